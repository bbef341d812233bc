"""What Spark's event log adds to a checkpoint: compared with it, and what the log does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.text import parse_json
from holdfast.errors import ReadError
from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.evidence.spark_error import ErrorReport, read_spark_error
from holdfast.formats.event_log.events import BatchProgress
from holdfast.formats.event_log.history import EventLog, EventLogHistory, NotReadLog, RunEnding
from holdfast.formats.event_log.read import read_event_log
from holdfast.ids import BatchId
from holdfast.sources.registry import parse_offset
from holdfast.wording import batch_range, count

_SHOWN = 3


def add_event_log(case: Case, location: str, options: Mapping[str, str]) -> Case:
    """Return a case with what the event logs at a location tell of its query.

    The exception of the last run is taken for the error, unless another one was given.

    Raises:
        LocationError: The location is not one that Holdfast can read.
    """
    found = collect_event_log(case.checkpoint, location, options)
    error = case.error
    if error is None and isinstance(found, EventLogHistory):
        error = error_in_log(found, case.checkpoint)
    return replace(case, event_log=found, error=error)


def collect_event_log(
    checkpoint: Checkpoint, location: str, options: Mapping[str, str]
) -> EventLog:
    """Return what the event logs at a location tell of the query of a checkpoint.

    Raises:
        LocationError: The location is not one that Holdfast can read.
    """
    own = checkpoint.metadata
    try:
        return read_event_log(
            location,
            query_id=own.query_id if isinstance(own, QueryMetadata) else None,
            checkpoint=checkpoint.location,
            options=options,
        )
    except ReadError as error:
        return NotReadLog(location=location, why=error.why.rstrip("."))


class OffsetComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The batches that both the event log and the checkpoint have."""

    equal: tuple[int, ...] = ()
    different: tuple[BatchProgress, ...] = ()


def compare_offsets(history: EventLogHistory, checkpoint: Checkpoint) -> OffsetComparison:
    """Compare where each batch ends by the event log with its offset entry."""
    # Of a batch that ran twice, the newest run is the one that the checkpoint has.
    newest = {each.batch_id: each for each in history.batches}
    equal: list[BatchProgress] = []
    different: list[BatchProgress] = []
    for number, batch in sorted(newest.items()):
        entry = checkpoint.offsets.get(BatchId(number))
        is_equal = _is_equal(batch, entry) if isinstance(entry, OffsetEntry) else None
        if is_equal is not None:
            (equal if is_equal else different).append(batch)
    return OffsetComparison(
        equal=tuple(each.batch_id for each in equal), different=tuple(different)
    )


def _is_equal(batch: BatchProgress, entry: OffsetEntry) -> bool | None:
    """Return whether a batch ends where its entry says; None if that cannot be compared."""
    ends = [each.end for each in batch.sources]
    written = [each.text for each in entry.offsets]
    if len(ends) != len(written):
        return None
    compared = [_is_same_offset(*each) for each in zip(ends, written, strict=True)]
    if False in compared:
        return False
    return None if None in compared else True


def _is_same_offset(one: str | None, other: str | None) -> bool | None:
    if one is None or other is None:
        return None if one is None and other is None else False
    if one == other:
        return True
    parsed = parse_offset(one), parse_offset(other)
    if all(each.kind.is_known for each in parsed):
        return parsed[0] == parsed[1]
    values = parse_json(one), parse_json(other)
    # A text that is no JSON may be written in another way each time.
    return None if None in values else values[0] == values[1]


def error_in_log(history: EventLogHistory, checkpoint: Checkpoint) -> ErrorReport | None:
    """Return what the exception of the last run tells; None if it has none, or others ran since."""
    run = history.newest
    if run is None or run.ending is not RunEnding.FAILED or run.error is None:
        return None
    has_run_since = max(checkpoint.offsets, default=-1) > (run.begun_batch or 0)
    if has_run_since and run.begun_batch is not None:
        return None
    report = read_spark_error(run.error)
    is_known = report.last is not None and report.last.cause is not Cause.OTHER
    return replace(report, query_id=history.query_id) if is_known else None


def say_incomplete(history: EventLogHistory, newest_committed: int) -> tuple[str, ...]:
    """Return what the history does not have; empty when it has everything.

    Args:
        history: As it was read.
        newest_committed: The newest batch that the checkpoint has committed; -1 without any.
    """
    return tuple(_incomplete(history, newest_committed))


def _incomplete(history: EventLogHistory, newest_committed: int) -> Iterator[str]:
    if not history.applications:
        yield f"there is no event log of Spark at {history.location}"
    elif history.query_id is None:
        yield "the checkpoint does not say its query id, and no plan in the log names it"
    elif not history.runs:
        yield f"none of {count(history.applications, 'application')} has this query"
    if history.missing_batches:
        yield f"{_say_ranges(history.missing_batches)} in no log"
    last = max((each.last_batch or 0 for each in history.runs), default=newest_committed)
    if newest_committed > last:
        yield f"{_say_ranges(((last + 1, newest_committed),))} committed, and in no log"
    yield from _unread(history)


def _unread(history: EventLogHistory) -> Iterator[str]:
    for name in history.compacted[:_SHOWN]:
        yield f"{name}: the history server has compacted it, which removes older batches for good"
    for name in history.without_end[-_SHOWN:]:
        yield f"{name}: the log does not say that the application ended (killed, or running)"
    for each in history.unread[:_SHOWN]:
        yield f"{each.path}: {each.why}"
    if (more := len(history.unread) - _SHOWN) > 0:
        yield f"{count(more, 'more file')} could not be read to the end"
    if history.unread_lines:
        yield f"{count(history.unread_lines, 'line')} could not be parsed"


def _say_ranges(ranges: tuple[tuple[int, int], ...]) -> str:
    shown = ", ".join(batch_range(*each) for each in ranges[:_SHOWN])
    more = len(ranges) - _SHOWN
    is_one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    rest = f" and {count(more, 'more range')}" if more > 0 else ""
    return f"{shown}{rest} {'is' if is_one else 'are'}"
