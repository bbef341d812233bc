"""The query that is to be started, beside what its last run was: for rules that compare the two.

A guarded start and `holdfast check` know it. What either of the two does not know is *unknown*, and
unknown is never fine.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.state_columns import Differs, PlannedState, find_changes, recorded_state
from holdfast.record.contracts import Contract
from holdfast.spark_versions import SparkVersion
from holdfast.storage.location import normal
from holdfast.wording import count

_FORMATS = (
    "spark.sql.streaming.aggregation.stateFormatVersion",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
    "spark.sql.streaming.join.stateFormatVersion",
)
"""Pinned settings that decide which columns state has."""
_WITH_WATERMARKS = 3
"""The version of contracts that has watermarks, aggregates and session settings."""
THE_LAST_CONTRACT = "the contract of the last run"
DELTA = "delta"
_NOT_RECORDED = (
    "The last run did not record it. Start the stream once with the code of the last run to "
    "record it."
)
_NOT_IN_LOG = "Neither the checkpoint nor the event log tells how it was in the last run."


class QueryToStart(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the query that is to be started."""

    now: Contract
    """As it would be written down."""
    before: Contract | None
    """That of the last run; None when there was none, or it is unknown."""
    state: tuple[PlannedState | None, ...] = ()
    """Of each stateful operator, the columns that it would bind; None where the plan hides them."""
    spark: SparkVersion
    unknown: tuple[str, ...] | None = None
    """Of a query that is not guarded, what nothing tells of the last run; None of a guarded one,
    whose contract tells it."""
    is_assumed: bool = False
    """Whether the last run is known by the checkpoint alone."""


def pinned_settings(checkpoint: Checkpoint) -> dict[str, str]:
    """Return the settings that Spark takes from the checkpoint, whatever the session says."""
    newest = checkpoint.newest_readable
    return {} if newest is None or newest.metadata is None else dict(newest.metadata.conf)


def known_state(query: QueryToStart, checkpoint: Checkpoint) -> tuple[PlannedState | None, ...]:
    """Return the columns that the query would bind; None where a pinned format changes them."""
    pinned = pinned_settings(checkpoint)
    is_other = any(query.now.settings.get(name, here) != here for name, here in _pins(pinned))
    return tuple(None for _ in query.state) if is_other else query.state


def _pins(pinned: dict[str, str]) -> Iterator[tuple[str, str]]:
    return ((name, pinned[name]) for name in _FORMATS if name in pinned)


def required_before(query: QueryToStart | None, operator_id: int) -> set[str] | None:
    """Return the columns of an operator that could not be NULL in the last run; None if unknown."""
    before = None if query is None else query.before
    if query is None or before is None or before.operators != query.now.operators:
        return None
    known = before.operator_not_null
    found = known[operator_id] if operator_id < len(known) else None
    return None if found is None else set(found)


def find_unknown(query: QueryToStart, checkpoint: Checkpoint) -> Iterator[str]:
    """Yield what could not be compared, one sentence each; nothing when all was."""
    if not checkpoint.offsets:
        return
    yield from query.unknown or ()
    before = query.before
    if query.unknown is not None:
        pass
    elif before is None:
        yield (
            "No contract of a last run was found, so sources, sinks and settings were not compared."
        )
    elif before.version < _WITH_WATERMARKS:
        yield (
            f"The contract of the last run is of version {before.version}, which did not record "
            "watermarks, aggregates and session settings. Start the stream once with this "
            "Holdfast to record them."
        )
    yield from _unknown_offsets(query, checkpoint)
    yield from _unknown_state(query, checkpoint)


def _unknown_offsets(query: QueryToStart, checkpoint: Checkpoint) -> Iterator[str]:
    newest = checkpoint.offsets[max(checkpoint.offsets)]
    if not isinstance(newest, OffsetEntry):
        yield f"{newest.path} could not be read: {newest.reason}. Sources were not counted."
    elif newest.version != 1:
        yield f"offsets/{newest.batch_id} names its sources: their names were not compared."
    before = query.before
    both = zip(before.source_options if before else (), query.now.source_options, strict=False)
    for number, (old, new) in enumerate(both):
        was, path = (normal(each.get("path", "")) for each in (old, new))
        if old.get("format") == new.get("format") == DELTA and was != path:
            yield (
                f"Source {number} was the Delta table {was} and is {path} now. Whether it is the "
                "same table was not compared. Spark refuses another one."
            )


def _unknown_operators(query: QueryToStart, checkpoint: Checkpoint) -> Iterator[str]:
    """Say that operators were not compared, which only Spark 4 and later name in a checkpoint."""
    unnamed = [each.operator_id for each in checkpoint.state if each.name is None]
    before, now = query.before, query.now.operators
    is_told = before is not None and before.operators == now and not query.is_assumed
    if (unnamed and not is_told) or (unnamed and len(checkpoint.state) != len(now)):
        yield (
            f"The checkpoint has {count(len(checkpoint.state), 'stateful operator')} and does not "
            f"name them. That they are {', '.join(now) or 'none'} was not compared."
        )


def _unknown_state(query: QueryToStart, checkpoint: Checkpoint) -> Iterator[str]:
    yield from _unknown_operators(query, checkpoint)
    planned = known_state(query, checkpoint)
    there = {operator.operator_id: operator for operator in checkpoint.state}
    for number, name in enumerate(query.now.operators):
        if number >= len(planned) or planned[number] is None:
            yield f"The state columns of operator {number} ({name}) are not in the query's plan."
        elif number not in there:
            continue  # it is missing, which a rule finds
        elif not recorded_state(there[number]):
            yield f"The checkpoint has no readable state schema of operator {number} ({name})."
    for change in find_changes(checkpoint, planned, query.now.operators):
        number = change.operator_id
        if change.how is Differs.IN_NULLABILITY and required_before(query, number) is None:
            yield (
                f"Columns of the state {change.part} of operator {number} ({change.operator}) can "
                f"be NULL in the query's plan and not in the checkpoint: {', '.join(change.now)}. "
                "Spark refuses that if the code has changed so. "
                f"{_NOT_RECORDED if query.unknown is None else _NOT_IN_LOG}"
            )
