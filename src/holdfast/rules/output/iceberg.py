"""Iceberg tables."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.iceberg_outputs import find_written
from holdfast.rules.rule import Finding, rule
from holdfast.wording import batch_range


@rule("HF741", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESUME)
def iceberg_sink_ahead(case: Case) -> Iterator[Finding]:
    """The Iceberg table holds batches of the query that the checkpoint has not planned."""
    planned = case.newest_planned
    for output, writer in find_written(case):
        if writer is None or writer.newest <= planned:
            continue
        first, last = planned + 1, writer.newest
        batches = batch_range(first, last)
        yield iceberg_sink_ahead.find(
            what=(
                f"{output.display_name} holds batches of this query up to {last}, and the newest "
                "entry of "
                f"the checkpoint is {planned}. Spark plans {batches} again with other ranges, and "
                "Iceberg's sink skips what it gets for them without an error."
            ),
            how="Restore the newest copy of the checkpoint, complete with sources/ and state/.",
            accepting=f"Spark skips {batches}, and rows that only the new ranges contain are lost",
            follows_from=(f"offsets/{planned}", output.metadata),
        )


@rule("HF742", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.REPLAY)
def iceberg_batches_missing(case: Case) -> Iterator[Finding]:
    """Batches that the checkpoint has committed are not in the Iceberg table: a rollback."""
    committed = case.newest_committed
    for output, writer in find_written(case):
        if writer is None or writer.newest >= committed:
            continue
        is_rolled_back = writer.newest_removed > writer.newest
        if not is_rolled_back and (output.is_cut or writer.newest < 0):
            continue
        first = writer.newest + 1
        batches = batch_range(first, committed)
        by = ", because it was rolled back" if is_rolled_back else ""
        yield iceberg_batches_missing.find(
            what=(
                f"The checkpoint has committed {batches}, and the current snapshot of "
                f"{output.display_name} does not hold them{by}. Spark goes on with batch "
                f"{committed + 1}, and does not read their range again."
            ),
            how=(
                "Undo the rollback, or load the range of these batches again: their offsets are in "
                "the checkpoint."
            ),
            accepting=f"the rows of {batches} stay out of the table",
            follows_from=(f"commits/{committed}", output.metadata),
        )


@rule("HF743", Severity.RISK, Confidence.LIKELY, Effect.NONE, Goal.RESET)
def iceberg_writer_unknown(case: Case) -> Iterator[Finding]:
    """The Iceberg table has no batch of this query, although the checkpoint has committed some."""
    committed = case.newest_committed
    for output, writer in find_written(case):
        if writer is not None or committed < 0 or output.is_cut:
            continue
        yield iceberg_writer_unknown.find(
            what=(
                f"The checkpoint has committed batches up to {committed}, and none of the "
                f"{output.snapshots} snapshots of {output.display_name} names this query. If "
                "Iceberg's "
                "own sink writes the table, it is a new table without the earlier batches."
            ),
            how="Check which table the stream writes, and whether it was created again.",
            follows_from=(f"commits/{committed}", output.metadata),
        )


@rule("HF744", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def iceberg_batch_not_recognised(case: Case) -> Iterator[Finding]:
    """A batch runs again, and the Iceberg snapshots that would recognise it were expired."""
    planned = case.newest_planned
    if planned <= case.newest_committed:
        return
    for output, writer in find_written(case):
        if writer is not None or not output.is_cut:
            continue
        yield iceberg_batch_not_recognised.find(
            what=(
                f"Batch {planned} runs again, and {output.display_name} has no snapshot of this "
                "query any "
                "more: they were expired. If the batch had reached the table, its rows are "
                "duplicated."
            ),
            how=f"Check whether the table holds the rows of batch {planned} before you start.",
            follows_from=(f"offsets/{planned}", output.metadata),
        )


@rule("HF745", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def iceberg_pending_batch(case: Case) -> Iterator[Finding]:
    """A batch runs again, and the Iceberg table tells whether it holds it."""
    planned = case.newest_planned
    if planned <= case.newest_committed:
        return
    for output, writer in find_written(case):
        if writer is None or writer.newest not in (planned, planned - 1):
            continue
        is_held = writer.newest == planned
        says = "holds it, and skips it" if is_held else "does not hold it, and takes it once"
        yield iceberg_pending_batch.find(
            what=f"Batch {planned} runs again. {output.display_name} {says}.",
            how="Start the stream.",
            follows_from=(f"offsets/{planned}", output.metadata),
        )
