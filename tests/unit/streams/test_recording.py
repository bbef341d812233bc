"""What is recorded of queries: all of it, within bounds, and never at the cost of a query."""

from __future__ import annotations

import threading
from collections.abc import Callable

import msgspec
import pytest

from holdfast.errors import WriteError
from holdfast.formats.event_log.parsing import DESCRIBED, EVENT_CLASS
from holdfast.storage.memory import MemoryStorage
from holdfast.streams import recording as module
from holdfast.streams.recording import Recording

QUERY, RUN = "6f0c0000-0000-4000-8000-000000000000", "7a000000-0000-4000-8000-000000000001"
STARTED = {"id": QUERY, "runId": RUN, "name": None, "timestamp": "2026-01-01T00:00:00.000Z"}


class Store(MemoryStorage):
    """A store that can refuse, and can wait until it is let go."""

    def __init__(self) -> None:
        super().__init__({})
        self.refuses = False
        self.puts = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.goes_on.set()

    def put(self, path: str, data: bytes) -> None:
        self.goes_on.wait(30)
        self.puts.release()
        if self.refuses:
            raise WriteError(path, why="No space left on device.", how="Make room.")
        super().put(path, data)


def event(kind: str, **fields: object) -> bytes:
    return msgspec.json.encode({"Event": EVENT_CLASS + kind, **fields})


def batch(number: int, size: int = 0) -> bytes:
    return event("QueryProgressEvent", progress={"batchId": number, "padding": "x" * size})


def describe(query: str, run: str) -> bytes:
    return msgspec.json.encode({"Event": DESCRIBED, "id": query, "runId": run})


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def record(store: Store) -> Callable[..., Recording]:
    def make(most_bytes: int = 4 << 20) -> Recording:
        found = Recording(
            store,
            directory="queries/eventlog_v2_app",
            every_seconds=0.005,
            most_bytes=most_bytes,
        )
        found.begin(describe=describe, stop_listening=lambda: None)
        return found

    return make


def lines_of(store: Store) -> list[bytes]:
    paths = sorted(info.path for info in store.walk())
    return [line for path in paths for line in (store.read(path) or b"").splitlines()]


def test_every_event_is_written_once_and_in_order(
    store: Store, record: Callable[..., Recording]
) -> None:
    events = [event("QueryStartedEvent", **STARTED), *map(batch, range(500))]
    recording = record()
    for each in events:
        recording.take(each)
    assert recording.stop()
    first, described, *others = lines_of(store)
    assert [first, *others] == events
    assert msgspec.json.decode(described) == {"Event": DESCRIBED, "id": QUERY, "runId": RUN}


def test_what_a_store_refuses_is_written_when_it_takes_it_again(
    store: Store, record: Callable[..., Recording], caplog: pytest.LogCaptureFixture
) -> None:
    store.refuses = True
    recording = record()
    events = list(map(batch, range(20)))
    for each in events:
        recording.take(each)
    for _ in range(3):
        assert store.puts.acquire(timeout=30)
    assert recording.failed is not None
    store.refuses = False
    assert recording.stop()
    assert lines_of(store) == events
    assert [each.getMessage() for each in caplog.records if "queries go on" in each.getMessage()]
    assert len(caplog.records) == 1


def test_a_store_that_never_takes_anything_costs_events_and_no_query(
    store: Store, record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PENDING_BYTES", 10_000)
    store.goes_on.clear()
    recording = record()
    for number in range(100):
        recording.take(batch(number, size=1_000))
    store.goes_on.set()
    assert not recording.stop()
    assert recording.lost + len(lines_of(store)) == 100
    assert recording.lost > 0


def test_the_oldest_files_are_deleted_when_there_is_too_much(
    store: Store, record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILE_BYTES", 10_000)
    recording = record(most_bytes=50_000)
    for number in range(200):
        recording.take(batch(number, size=2_000))
        if number % 5 == 4:
            assert store.puts.acquire(timeout=30)
    assert recording.stop()
    kept = lines_of(store)
    assert sum(map(len, kept)) < 120_000
    assert batch(199, size=2_000) in kept
    assert batch(0, size=2_000) not in kept


def test_an_error_that_nobody_expects_does_not_end_the_recording(
    store: Store, record: Callable[..., Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    put, failures = store.put, iter([RuntimeError("token=hunter2")] * 2)

    def put_at_last(path: str, data: bytes) -> None:
        for failure in failures:
            raise failure
        put(path, data)

    monkeypatch.setattr(store, "put", put_at_last)
    recording = record()
    recording.take(batch(0))
    assert store.puts.acquire(timeout=30)
    assert recording.stop()
    assert lines_of(store) == [batch(0)]


def test_what_waits_is_written_when_nobody_can_be_told_to_stop(store: Store) -> None:
    recording = Recording(
        store, directory="queries/eventlog_v2_app", every_seconds=60, most_bytes=4 << 20
    )

    def gone() -> None:
        raise AttributeError("'NoneType' object has no attribute 'sc'")

    recording.begin(describe=describe, stop_listening=gone)
    recording.take(batch(0))
    with pytest.raises(AttributeError):
        recording.stop()
    assert store.puts.acquire(timeout=30)


def test_a_second_stop_does_nothing(record: Callable[..., Recording]) -> None:
    recording = record()
    assert recording.stop()
    assert recording.stop()
