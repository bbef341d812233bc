"""What `plan` says while it waits, and what it says comes after a reset."""

from __future__ import annotations

import logging
from threading import Event
from types import SimpleNamespace
from typing import cast

import pytest

from holdfast.plan import world
from holdfast.plan.goals.outputs import OutputChoice, ResetRequest
from holdfast.plan.goals.plain_parts import start_again
from holdfast.plan.goals.prove_next import say_proof
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.storage.location import parse_location
from tests.unit.plan.streams_on_disk import OnDisk, disk

__all__ = ["disk"]
STREAM = "readings"
PROVE = "holdfast prove MODULE:PIPELINE"


class SlowSink:
    """A sink whose ledger answers only once somebody was told that it is slow."""

    display_name = "the PostgreSQL table readings"
    settles_with_spark = keeps_versions = False

    def __init__(self) -> None:
        self.told = Event()

    def read(self, _: str) -> None:
        assert self.told.wait(60)

    def table_version(self, _: str) -> None: ...

    def count_rows(self) -> None: ...

    def batch_versions(self, _: str) -> dict[int, str]:
        return {}

    def other_streams(self, _: str) -> tuple[str, ...]:
        return ()

    def close(self) -> None: ...


class Heard(logging.Handler):
    """Keeps what is logged, and then lets the sink answer."""

    def __init__(self, told: Event) -> None:
        super().__init__()
        self.told, self.said = told, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())
        self.told.set()


def test_a_sink_that_does_not_answer_is_named(
    disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.add(STREAM, {"s": 1})
    contract = disk.sinks[STREAM, "s"].contract
    monkeypatch.undo()
    slow = SlowSink()
    monkeypatch.setattr(world, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(world, "open_recorded", lambda *_, **__: (slow, slow))
    heard = Heard(slow.told)
    logging.getLogger("holdfast").addHandler(heard)
    try:
        found = world.look_at_sink(contract, STREAM, {})
    finally:
        logging.getLogger("holdfast").removeHandler(heard)
    assert isinstance(found, SinkNow)
    assert "waiting for the PostgreSQL table readings" in heard.said[0]


def proof_of(now: StreamNow, output: OutputChoice) -> list[str]:
    return list(say_proof((now,), ResetRequest(start="earliest", output=output, outputs={})))


@pytest.mark.parametrize(
    ("operators", "output", "is_compared"),
    [
        ((), OutputChoice.TRUNCATE, True),
        ((), OutputChoice.KEEP, True),
        (("stateStoreSave",), OutputChoice.TRUNCATE, True),
        (("stateStoreSave",), OutputChoice.KEEP, False),
        (("symmetricHashJoin",), OutputChoice.TRUNCATE, False),
        (("stateStoreSave", "dedupe"), OutputChoice.TRUNCATE, False),
    ],
    ids=["emptied", "kept", "aggregated", "aggregated and kept", "joined", "two operators"],
)
def test_a_proof_is_a_next_step_only_where_it_can_compare(
    disk: OnDisk, operators: tuple[str, ...], output: OutputChoice, *, is_compared: bool
) -> None:
    disk.add(STREAM, {"s": 1}, operators=operators)
    disk.checkpoint(STREAM, 1)
    now = world.look_at_stream(disk.looks(STREAM))
    said = proof_of(now, output)
    assert (PROVE in said) is is_compared
    assert any(each.startswith(f"Compare {STREAM} yourself") for each in said) is not is_compared


@pytest.mark.parametrize(
    ("place", "is_stateful", "command"),
    [
        ("s3a://lake/cp", True, "aws s3 rm --recursive s3://lake/cp/state"),
        ("gs://lake/cp", True, "gcloud storage rm --recursive gs://lake/cp/state"),
        ("s3a://lake/cp", False, None),
        ("/lake/cp", True, None),
    ],
)
def test_what_marks_directories_in_a_bucket_is_left_to_a_person(
    place: str, is_stateful: bool, command: str | None
) -> None:
    checkpoint = SimpleNamespace(location=parse_location(place))
    now = SimpleNamespace(stream=STREAM, is_stateful=is_stateful, checkpoint=checkpoint)
    *before, last = start_again([cast(StreamNow, now)])
    assert last.startswith("Start the programs as before")
    assert len(before) == (command is not None)
    assert all(each.endswith(f": {command}") for each in before)
