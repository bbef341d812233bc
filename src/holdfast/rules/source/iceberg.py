"""Iceberg sources."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import KEEP, reset_advice
from holdfast.rules.rule import Finding, rule
from holdfast.sources.iceberg.found import IcebergSource
from holdfast.sources.iceberg.kind import BEFORE_THE_FIRST, IcebergOffset
from holdfast.sources.registry import beginnings, of_kind


@rule("HF361", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def iceberg_snapshot_expired(case: Case) -> Iterator[Finding]:
    """The Iceberg table no longer has the snapshot that the checkpoint has read up to."""
    newest = case.newest_planned
    for each in case.sources:
        found = each.found
        if not isinstance(found, IcebergSource) or found.is_held or newest < 0:
            continue
        yield iceberg_snapshot_expired.find(
            what=(
                f"Source {each.source} has read {found.display_name} up to snapshot "
                f"{found.needed}, which "
                "the table does not have any more. Spark fails at every start."
            ),
            how=(
                "Set stream-from-timestamp to the next snapshot that the table has, then "
                f"{reset_advice(case, output=KEEP)}. Load what was expired with a bounded job."
            ),
            accepting="Spark fails at the start, and no data changes",
            follows_from=(f"offsets/{newest}", found.metadata),
        )


_REWRITES = ("overwrite", "delete")


@rule("HF362", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.BACKFILL)
def iceberg_source_rewritten(case: Case) -> Iterator[Finding]:
    """The Iceberg table was overwritten or rows were deleted after the checkpoint's snapshot."""
    for each in case.sources:
        found = each.found
        if not isinstance(found, IcebergSource) or not found.is_in_history:
            continue
        rewrites = [change for change in found.after if change.operation in _REWRITES]
        if not rewrites:
            continue
        first = rewrites[0]
        added = sum(change.added or 0 for change in rewrites)
        yield iceberg_source_rewritten.find(
            what=(
                f"After snapshot {found.needed}, {found.display_name} has {len(rewrites)} "
                "snapshots that "
                f"overwrite or delete; the first is {first.snapshot_id} ({first.operation}). Spark "
                "fails at it. With the option that skips such snapshots, Spark starts, and the "
                f"{added:,} records that they added never reach the sink."
            ),
            how=(
                f"Set streaming-skip-{first.operation}-snapshots. If you need what these snapshots "
                "added, load it with a bounded job."
            ),
            follows_from=(f"offsets/{case.newest_planned}", found.metadata),
        )


@rule("HF363", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def iceberg_source_rolled_back(case: Case) -> Iterator[Finding]:
    """The Iceberg table was rolled back behind the snapshot that the checkpoint has read."""
    newest = case.newest_planned
    for each in case.sources:
        found = each.found
        if not isinstance(found, IcebergSource) or not found.is_held or found.is_in_history:
            continue
        yield iceberg_source_rolled_back.find(
            what=(
                f"Source {each.source} has read {found.display_name} up to snapshot "
                f"{found.needed}. The "
                "table was rolled back, and that snapshot is not in its history any more. Spark "
                "fails at every start."
            ),
            how=(
                "Undo the rollback. Or remove the rows of the removed snapshots from the sink, set "
                f"stream-from-timestamp, and {reset_advice(case, output=KEEP)}."
            ),
            accepting="Spark fails at the start, and no data changes",
            follows_from=(f"offsets/{newest}", found.metadata),
        )


@rule("HF364", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def iceberg_first_snapshot_expired(case: Case) -> Iterator[Finding]:
    """The Iceberg table no longer has the snapshot that the stream began with."""
    began = of_kind(beginnings(case.checkpoint), IcebergOffset)
    for each in case.sources:
        found, first = each.found, began.get(each.source)
        if not isinstance(found, IcebergSource) or first is None:
            continue
        is_there = first.snapshot_id == BEFORE_THE_FIRST or first.snapshot_id in found.held
        if is_there or not found.is_held:
            continue
        yield iceberg_first_snapshot_expired.find(
            what=(
                f"{found.display_name} does not have snapshot {first.snapshot_id} any more, with "
                "which "
                f"source {each.source} began. With the trigger AvailableNow, Spark fails at every "
                f"start, although snapshot {found.needed}, which it has read up to, is there."
            ),
            how="Run the query with a processing-time trigger until it has caught up.",
            follows_from=(f"sources/{each.source}/offsets/0", found.metadata),
        )
