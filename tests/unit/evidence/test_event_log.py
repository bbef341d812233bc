"""What an event log adds to a checkpoint: positions that are compared, and the last exception."""

from __future__ import annotations

import json

import pytest

from holdfast.checkpoint import read_checkpoint
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.error_causes import Cause
from holdfast.evidence.event_log import compare_offsets, error_in_log, say_incomplete
from holdfast.formats.event_log.events import BatchProgress, SourceProgress
from holdfast.formats.event_log.history import EventLogHistory, QueryRun, RunEnding
from holdfast.storage.memory import MemoryStorage

QUERY = "11111111-1111-4111-8111-111111111111"
HEAD = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


def checkpoint(*ends: str) -> Checkpoint:
    """Return a checkpoint whose batches end there."""
    files = {f"offsets/{n}": f"{HEAD}\n{end}".encode() for n, end in enumerate(ends)}
    return read_checkpoint(MemoryStorage({"metadata": b"{}", **files}))


def batch(number: int, end: str | None) -> BatchProgress:
    """Return a batch of one source."""
    return BatchProgress(
        query_id=QUERY,
        run_id="r",
        name=None,
        batch_id=number,
        at="t",
        durations_ms={},
        sources=(SourceProgress(description="s", start=None, end=end),),
        states=(),
        sink="x",
        rows=0,
    )


def run(**fields: object) -> QueryRun:
    """Return a run that failed."""
    known: dict[str, object] = {
        "query_id": QUERY,
        "run_id": "r",
        "name": None,
        "application": "a",
        "application_id": None,
        "spark": None,
        "began_at": None,
        "ending": RunEnding.FAILED,
    }
    return QueryRun(**{**known, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("logged", "written", "is_equal"),
    [
        ('{"orders":{"0":5,"1":6}}', '{"orders":{"1":6,"0":5}}', True),
        ('{"orders":{"0":5}}', '{"orders":{"0":6}}', False),
        ('{"logOffset":3}', '{"logOffset":3}', True),
        ("5", "5", True),
        ('{"mine": [1, 2]}', '{"mine":[1,2]}', True),
        ("cursor a", "cursor b", None),
        (None, "-", None),
        ("5", "-", False),
    ],
)
def test_offsets_are_compared_as_positions(
    logged: str | None, written: str, *, is_equal: bool | None
) -> None:
    history = EventLogHistory(location="l", query_id=QUERY, batches=(batch(0, logged),))
    found = compare_offsets(history, checkpoint(written))
    assert (len(found.equal), len(found.different)) == (is_equal is True, is_equal is False)


def test_of_a_batch_that_ran_twice_the_newest_counts() -> None:
    history = EventLogHistory(location="l", query_id=QUERY, batches=(batch(0, "4"), batch(0, "5")))
    assert compare_offsets(history, checkpoint("5")).different == ()


def test_the_exception_of_the_last_run_is_the_error() -> None:
    error = "java.lang.OutOfMemoryError: Java heap space\n\tat x"
    history = EventLogHistory(location="l", query_id=QUERY, runs=(run(error=error, begun_batch=1),))
    report = error_in_log(history, checkpoint("4", "5"))
    assert report is not None
    assert report.last is not None
    assert report.last.cause is Cause.OUT_OF_MEMORY
    assert report.query_id == QUERY
    assert error_in_log(history, checkpoint("4", "5", "6")) is None, "another run since"


def test_an_exception_that_is_not_known_is_no_error() -> None:
    runs = (run(error="com.example.Odd: no"),)
    history = EventLogHistory(location="l", query_id=QUERY, runs=runs)
    assert error_in_log(history, checkpoint("4")) is None


def test_what_is_missing_is_said_in_numbers() -> None:
    history = EventLogHistory(
        location="l",
        query_id=QUERY,
        applications=1,
        runs=(run(last_batch=7),),
        missing_batches=((0, 2), (4, 4)),
        compacted=("app",),
        unread_lines=2,
    )
    said = json.dumps(say_incomplete(history, 9))
    assert "batches 0 to 2, batch 4 are in no log" in said
    assert "batches 8 to 9 are committed, and in no log" in said
    assert "app: the history server has compacted it" in said
    assert "2 lines could not be parsed" in said
