"""What a heartbeat asks the store for, whatever the record holds."""

from __future__ import annotations

import errno
import signal
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException as PySparkError

from holdfast import clock
from holdfast.drills.kill.waiting import wait_until
from holdfast.errors import WriteError
from holdfast.record.leases import Lease, take_lease
from holdfast.record.owner import this_process
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.classic.jvm import is_certainly_gone
from holdfast.storage.memory import MemoryStorage
from holdfast.streams.heartbeat import _RUNNING, THREAD, LeaseRenewer
from tests.stand_ins import stand_in
from tests.unit.record.counted import RUN, CountedStorage, record_of

HEARTBEATS = 5


class StubQuery:
    """A query that runs for some heartbeats, without taking time."""

    def __init__(self) -> None:
        self.left = HEARTBEATS
        self.isActive = False

    def awaitTermination(self, _seconds: float) -> bool:  # noqa: N802 - Spark's own word
        self.left -= 1
        return self.left < 0

    def exception(self) -> None:
        return None


class GoneQuery(StubQuery):
    """A query whose JVM is gone: no call gets through."""

    def __init__(self) -> None:
        self.left = 0

    @property
    def isActive(self) -> bool:  # type: ignore[override]  # noqa: N802 - Spark's own word
        raise ConnectionRefusedError

    def awaitTermination(self, _seconds: float) -> bool:  # noqa: N802 - Spark's own word
        raise ConnectionRefusedError

    def exception(self) -> None:
        raise ConnectionRefusedError


class LostCall(StubQuery):
    """A query that runs on although one call to it did not get through."""

    def __init__(self) -> None:
        super().__init__()
        self.isActive = True

    def awaitTermination(self, _seconds: float) -> bool:  # noqa: N802 - Spark's own word
        self.left -= 1
        if self.left == HEARTBEATS - 1:
            raise ConnectionResetError
        return self.left < 0


class UnaskedQuery(StubQuery):
    """A query that runs on while its driver cannot open a socket to ask it."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    @property
    def isActive(self) -> bool:  # noqa: N802 - Spark's own word
        raise self.error

    @isActive.setter
    def isActive(self, _: bool) -> None: ...  # noqa: N802

    def awaitTermination(self, _seconds: float) -> bool:  # noqa: N802 - Spark's own word
        self.left -= 1
        if self.left >= 0:
            raise self.error
        return True


class BrokenSink:
    """A sink of a user that cannot be closed."""

    display_name = "the broken sink"

    is_native = False

    def newest_batch(self) -> int | None:
        return None

    def close(self) -> None:
        raise ZeroDivisionError


class RunningQuery(StubQuery):
    """A query that runs until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()

    def awaitTermination(self, seconds: float) -> bool:  # noqa: N802 - Spark's own word
        return self.may_end.wait(seconds)


class RefusingStorage(MemoryStorage):
    """A store that answers every request with 503 while it is away."""

    is_away = False

    def put(self, path: str, data: bytes) -> None:
        if self.is_away:
            raise WriteError(path, why="503 Slow Down", how="")
        super().put(path, data)


class AwayStorage(MemoryStorage):
    """A store that answers nothing that is put there while it is away."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()
        self.answers.set()

    def put(self, path: str, data: bytes) -> None:
        assert self.answers.wait(60)
        super().put(path, data)


def lease_of(record: MemoryStorage) -> Lease:
    return msgspec.json.decode(record.files["leases/000001.json"], type=Lease)


def test_the_lease_is_renewed_while_the_stream_starts() -> None:
    record = MemoryStorage()
    lease = take_lease(record, this_process(), term_s=1.0)
    renewer = LeaseRenewer(record, lease, ())
    renewer.begin()
    assert wait_until(lambda: lease_of(record).nonce != lease.nonce, seconds=60)
    renewer.abandon()
    assert lease_of(record).released
    assert renewer.is_over


def test_a_lease_that_is_lost_while_the_stream_starts_is_not_released() -> None:
    record = MemoryStorage()
    renewer = LeaseRenewer(record, take_lease(record, this_process(), term_s=1.0), ())
    renewer.begin()
    take_lease(record, this_process(), takeover=True)
    assert wait_until(lambda: renewer.is_lost, seconds=60)
    renewer.abandon()
    assert not lease_of(record).released


@pytest.mark.parametrize("is_taken", [True, False])
def test_a_driver_that_was_paused_asks_for_its_lease_before_its_heartbeat_does(
    monkeypatch: pytest.MonkeyPatch, *, is_taken: bool
) -> None:
    record = MemoryStorage()
    renewer = LeaseRenewer(record, take_lease(record, this_process(), term_s=30.0), ())
    if is_taken:
        take_lease(record, this_process(), takeover=True)
    assert renewer.holds()  # nothing is asked while the last heartbeat is fresh
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now + 30.0)
    assert renewer.holds() is not is_taken


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell has its background jobs ignore SIGINT, and pytest may be one of them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_wait_that_is_interrupted_has_not_ended() -> None:
    """`Thread.join` takes the thread for ended after Ctrl-C: the lease would be left behind."""
    record, query = MemoryStorage(), RunningQuery()
    renewer = LeaseRenewer(record, take_lease(record, this_process()), ())
    renewer.begin()
    renewer.keep(stand_in(query), msgspec.structs.replace(RUN, epoch=1))
    here = threading.get_ident()
    threading.Timer(0.2, signal.pthread_kill, [here, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        renewer.wait(60)
    assert not renewer.wait(0)
    assert not renewer.wait_for_end(0)
    query.may_end.set()
    assert renewer.wait(60)
    assert lease_of(record).released


def test_the_end_of_a_query_is_known_before_a_store_that_is_away_answers() -> None:
    """Else a failure would be told minutes after it happened."""
    record, query = AwayStorage(), RunningQuery()
    renewer = LeaseRenewer(record, take_lease(record, this_process()), ())
    renewer.begin()
    renewer.keep(stand_in(query), msgspec.structs.replace(RUN, epoch=1))
    record.answers.clear()
    query.may_end.set()
    assert renewer.wait_for_end(60)
    assert not renewer.wait(0)
    record.answers.set()
    assert renewer.wait(60)
    assert lease_of(record).released


def run_to_end(query: StubQuery, *sinks: BrokenSink) -> CountedStorage:
    """Keep a query until it has ended; return the record."""
    record = record_of(0)
    lease = take_lease(record, this_process())
    record.requests.clear()
    renewer = LeaseRenewer(record, lease, cast("tuple[SinkWriter, ...]", sinks))
    renewer.begin()
    renewer.keep(stand_in(query), msgspec.structs.replace(RUN, epoch=lease.epoch))
    assert renewer.wait(60)
    found = msgspec.json.decode(record.files[lease.path], type=Lease)
    assert found.released
    assert str(record.location) not in _RUNNING
    return record


def test_a_lease_is_released_when_the_jvm_is_gone() -> None:
    run_to_end(GoneQuery())


def test_a_lease_is_released_when_a_sink_cannot_be_closed() -> None:
    run_to_end(StubQuery(), BrokenSink())


def test_a_call_that_does_not_get_through_is_not_the_end_of_the_query() -> None:
    assert run_to_end(LostCall()).requests["head"] == HEARTBEATS


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, "Too many open files"),
        OSError(errno.ENOBUFS, "No buffer space available"),
        TimeoutError("timed out"),
        ConnectionResetError(),
        Py4JNetworkError("Answer from Java side is empty"),
    ],
    ids=repr,
)
def test_a_query_that_cannot_be_asked_may_run_and_keeps_its_lease(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.streams.query_end.time.sleep", lambda _: None)
    assert run_to_end(UnaskedQuery(error)).requests["head"] == HEARTBEATS


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        Py4JError("Target Object ID does not exist"),
        PySparkError("the JVM says so"),
    ],
)
def test_a_query_that_is_certainly_gone_ends_its_lease(error: Exception) -> None:
    assert "head" not in run_to_end(UnaskedQuery(error)).requests


def test_a_port_that_refuses_connections_is_that_of_a_jvm_that_is_gone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = SimpleNamespace(address="127.0.0.1", port=server.getsockname()[1])
        query = SimpleNamespace(_jsq=SimpleNamespace(_gateway_client=client))
        lost = Py4JNetworkError("Answer from Java side is empty")
        assert not is_certainly_gone(stand_in(query), lost)
        assert not is_certainly_gone(stand_in(query), OSError(errno.EMFILE, "Too many open files"))
    assert is_certainly_gone(stand_in(query), lost)


def test_a_heartbeat_is_two_requests_and_lists_nothing() -> None:
    record = record_of(3_000)
    lease = take_lease(record, this_process(), after=3_000)
    record.requests.clear()
    renewer = LeaseRenewer(record, lease, ())
    renewer.last_batch = 7
    run = msgspec.structs.replace(RUN, epoch=lease.epoch)
    renewer.begin()
    renewer.keep(stand_in(StubQuery()), run)
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(60)
    runs, release = 2, 1
    assert record.requests == {"head": HEARTBEATS, "put": HEARTBEATS + runs + release}
    ended = msgspec.json.decode(record.files[run.path], type=type(run))
    assert (ended.ended, ended.last_batch) == ("finished", 7)


def test_a_lease_that_was_not_renewed_for_a_term_is_asked_for_before_it_is_relied_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [100.0]
    monkeypatch.setattr("holdfast.clock.monotonic", lambda: now[0])
    record = RefusingStorage()
    renewer = LeaseRenewer(record, take_lease(record, this_process()), ())
    record.is_away = True
    now[0] += 30.0
    assert renewer.is_confirmed(), "the term has not run out"
    now[0] += 1.0
    assert not renewer.is_confirmed()
    assert renewer.holds(), "a sink with a fence keeps another driver out by itself"
    assert "could not renew its lease for 31 s" in caplog.text
    record.is_away = False
    assert renewer.is_confirmed()
    assert not renewer.is_lost
    now[0] += 31.0
    take_lease(record, this_process(), takeover=True)
    assert not renewer.is_confirmed()
    assert renewer.is_lost


class SlowQuery(StubQuery):
    """A query during whose every heartbeat a term runs out."""

    def __init__(self, now: list[float]) -> None:
        super().__init__()
        self.now = now
        self.is_stopped = False

    def awaitTermination(self, seconds: float) -> bool:  # noqa: N802 - Spark's own word
        self.now[0] += 31.0
        return super().awaitTermination(seconds)

    def stop(self) -> None:
        self.is_stopped = True


@pytest.mark.parametrize("is_native", [True, False])
def test_only_a_query_without_a_fence_is_stopped_when_its_term_runs_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, is_native: bool
) -> None:
    """While the store is away nobody knows whether another driver runs."""
    now = [100.0]
    monkeypatch.setattr("holdfast.clock.monotonic", lambda: now[0])
    record, query, sink = RefusingStorage(), SlowQuery(now), BrokenSink()
    monkeypatch.setattr(sink, "is_native", is_native)
    lease = take_lease(record, this_process())
    renewer = LeaseRenewer(record, lease, cast("tuple[SinkWriter, ...]", (sink,)))
    renewer.begin()
    monkeypatch.setattr("holdfast.streams.heartbeat.write_run", lambda *_: None)
    record.is_away = True
    renewer.keep(stand_in(query), msgspec.structs.replace(RUN, epoch=lease.epoch))
    assert renewer.wait(60)
    assert renewer.is_lost is renewer.is_unconfirmed is query.is_stopped is is_native
    assert ("another driver has taken over" in caplog.text) is False
    assert ("was not renewed within its term" in caplog.text) is is_native
    assert not lease_of(record).released
