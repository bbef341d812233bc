"""File sinks with other batches than the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.commits import CommitEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.file_evidence import count_rows, file_outputs, split_writers, when_compacted
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kind import Amount
from holdfast.wording import batch_range, count


@rule("HF721", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESUME)
def file_sink_ahead_of_checkpoint(case: Case) -> Iterator[Finding]:
    """The output's log holds batches that the checkpoint has not planned."""
    planned = case.newest_planned
    for output in file_outputs(case):
        newest = output.newest
        if newest is None or not newest > planned >= 0:
            continue
        number = newest - planned
        yield file_sink_ahead_of_checkpoint.find(
            what=(
                f"{spark_will(case)} run {batch_range(planned + 1, newest)} and discard the "
                "output: "
                f"{output.display_name} already has batch {newest} in its log, and the checkpoint "
                f"has planned up to batch {planned}. The rows are lost without an error."
            ),
            how=(
                "Restore the newest copy of the checkpoint, or use a new output directory with a "
                "new checkpoint."
            ),
            accepting=f"the rows of {batch_range(planned + 1, newest)} never reach the output",
            amount=Amount(number=number, unit="batch"),
            follows_from=(f"offsets/{planned}", f"_spark_metadata/{newest}"),
        )


@rule("HF722", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def file_sink_of_another_checkpoint(case: Case) -> Iterator[Finding]:
    """A new checkpoint on an output directory that already has a log."""
    for output in file_outputs(case):
        newest = output.newest
        if newest is None or case.newest_planned >= 0:
            continue
        yield file_sink_of_another_checkpoint.find(
            what=(
                f"Spark will start with batch 0 and discard the output of "
                f"{count(newest + 1, 'batch')}: {output.display_name} has batches "
                f"up to {newest} in its log, written with another checkpoint. Their rows "
                "are lost without an error."
            ),
            how="Restore the old checkpoint, or give the new one a new output directory.",
            accepting=f"the rows of {batch_range(0, newest)} never reach the output",
            amount=Amount(number=newest + 1, unit="batch"),
            follows_from=(f"_spark_metadata/{newest}", "offsets"),
        )


@rule("HF723", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def file_sink_batches_skipped(case: Case) -> Iterator[Finding]:
    """The output holds batches of these numbers that are older than the checkpoint's."""
    for output in file_outputs(case):
        own, others = split_writers(case, output)
        if not others or (own and min(own) < max(others)):
            continue
        first, last = others[0], others[-1]
        yield file_sink_batches_skipped.find(
            what=(
                f"The output of {batch_range(first, last)} is not in {output.display_name}: the "
                "log had "
                f"{'a batch of that number' if first == last else 'batches of those numbers'} "
                "before this checkpoint planned it, so Spark discards it without an error."
            ),
            how=(
                f"Load the input of {batch_range(first, last)} once with a batch job, and use a "
                "new output directory with a new checkpoint."
            ),
            accepting="the rows stay lost",
            amount=count_rows(case, others),
            follows_from=(f"offsets/{first}", f"_spark_metadata/{first}"),
        )


@rule("HF727", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.BACKFILL)
def file_sink_behind_checkpoint(case: Case) -> Iterator[Finding]:
    """The checkpoint has committed batches that the output's log does not have."""
    committed = case.newest_committed
    for output in file_outputs(case):
        if output.newest is None or output.newest >= committed:
            continue
        lost = batch_range(output.newest + 1, committed)
        fails = when_compacted(output, committed)
        yield file_sink_behind_checkpoint.find(
            what=(
                f"Spark will not write {lost} again, and fails when it compacts the log of "
                f"{output.display_name}, {fails}: the checkpoint has committed up to batch "
                f"{committed}, and the log ends with batch {output.newest}."
            ),
            how="Restore the newest copy of the output, with its _spark_metadata.",
            accepting=f"the rows of {lost} are missing, and the query fails {fails}",
            amount=Amount(number=committed - output.newest, unit="batch"),
            follows_from=(f"commits/{committed}", f"_spark_metadata/{output.newest}"),
        )


@rule("HF731", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def file_sink_holds_pending_batch(case: Case) -> Iterator[Finding]:
    """The output already holds the batch that runs again."""
    planned = case.newest_planned
    before = case.checkpoint.commits.get(BatchId(case.newest_committed))
    if isinstance(before, CommitEntry) and before.state_ids:
        return  # skipping the batch fails
    for output in file_outputs(case):
        if output.newest != planned or planned <= case.newest_committed:
            continue
        yield file_sink_holds_pending_batch.find(
            what=(
                f"{spark_will(case)} run batch {planned} again and write nothing: "
                f"{output.display_name} already holds it."
            ),
            how=f"Start the query, and do not delete offsets/{planned}.",
            follows_from=(f"offsets/{planned}", f"_spark_metadata/{planned}"),
        )


@rule("HF732", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def file_sink_lacks_pending_batch(case: Case) -> Iterator[Finding]:
    """The output does not hold the batch that runs again."""
    planned = case.newest_planned
    for output in file_outputs(case):
        if not output.has_log or output.newest != case.newest_committed:
            continue
        if planned <= case.newest_committed:
            continue
        yield file_sink_lacks_pending_batch.find(
            what=(
                f"{spark_will(case)} run batch {planned} again and write it: {output.display_name} "
                "lacks it."
            ),
            how="Start the query.",
            follows_from=(f"offsets/{planned}", f"_spark_metadata/{output.newest}"),
        )


@rule("HF735", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def file_sink_skip_loses_state(case: Case) -> Iterator[Finding]:
    """The output holds the batch that runs again, and skipping it fails the query."""
    planned, committed = case.newest_planned, case.newest_committed
    before = case.checkpoint.commits.get(BatchId(committed))
    if planned <= committed or not isinstance(before, CommitEntry) or not before.state_ids:
        return
    for output in file_outputs(case):
        if output.newest != planned:
            continue
        is_compact = output.compact == planned
        yield file_sink_skip_loses_state.find(
            what=(
                f"Spark will fail in batch {planned} at every start: {output.display_name} already "
                "holds "
                "the batch, so Spark does not run it and does not learn which state files it has."
            ),
            how=(
                "Start with a new output directory together with a new checkpoint."
                if is_compact
                else f"Move _spark_metadata/{planned} away, so that Spark runs the batch again."
            ),
            accepting="Spark fails in the same way; nothing is written",
            follows_from=(
                f"offsets/{planned}",
                f"commits/{committed}",
                f"_spark_metadata/{planned}",
            ),
        )
