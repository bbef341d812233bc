"""Delta tables with other batches than the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain
from holdfast.evidence.outputs.delta import OutputCommit
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import REWIND, plan_command
from holdfast.rules.delta_holdings import (
    Holding,
    at,
    delta_holdings,
    is_forgotten,
    is_planned_later,
    listed,
    planned_ms,
)
from holdfast.rules.rule import Finding, rule
from holdfast.wording import batch_range


@rule("HF701", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESUME)
def recreated_batch_skipped(case: Case) -> Iterator[Finding]:
    """The sink holds the batch that Spark would plan anew, and skips it."""
    if not isinstance(case.next_start, Resumes):
        return
    batch = case.next_start.batch_id
    for holding in delta_holdings(case):
        commit = holding.newest_commit
        if not holding.is_native or holding.batch != batch:
            continue
        if is_forgotten(case, holding.output, commit):
            continue
        when = "" if commit is None else f" since {at(commit.written_ms)}"
        yield recreated_batch_skipped.find(
            what=(
                f"{holding.output.display_name} has batch {batch} of this query{when}, but the "
                "checkpoint "
                f"ends with batch {batch - 1}. Spark plans batch {batch} again with a larger "
                "range; Delta skips it by its number, and the rows that are new in it are lost."
            ),
            how=(
                f"Restore offsets/{batch} from a backup before you start the query: then Spark "
                "runs the same batch, and the table skips exactly that."
            ),
            accepting="everything that arrived since that batch is lost, without an error",
            follows_from=(
                *case.next_start.follows_from,
                *(() if commit is None else holding.files(commit.version)),
                "metadata",
            ),
        )


@rule("HF702", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESUME)
def delta_ahead_of_checkpoint(case: Case) -> Iterator[Finding]:
    """The Delta table holds later batches than the checkpoint: an old copy, or a clone."""
    if not isinstance(case.next_start, Resumes | RunsAgain):
        return
    planned = case.newest_planned
    first = planned + 1
    for holding in delta_holdings(case):
        held = holding.batch
        if not holding.is_native or held is None or held <= planned:
            continue
        if held == first and isinstance(case.next_start, Resumes):
            continue  # one batch: its offset entry was deleted
        if is_forgotten(case, holding.output, holding.newest_commit):
            continue
        yield delta_ahead_of_checkpoint.find(
            what=(
                f"{holding.output.display_name} holds batch {held} of this query, but the newest "
                "entry "
                f"of the checkpoint is batch {planned}. Spark plans {batch_range(first, held)} "
                "anew, from what the source has then. Delta skips every batch number that it has, "
                "and the rows that are new in it are lost."
            ),
            how=(
                "Stop every query that runs on a copy of this checkpoint, then restore the newest "
                "copy of the checkpoint, complete with sources/ and state/."
            ),
            accepting=f"Delta skips {batch_range(first, held)}, with the new rows",
            follows_from=(
                f"offsets/{planned}",
                *holding.files(*(each.version for each in (holding.newest_commit,) if each)),
                "metadata",
            ),
        )


@rule("HF703", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.BACKFILL)
def batch_planned_twice(case: Case) -> Iterator[Finding]:
    """The checkpoint planned a batch that the table already had: its rows are skipped."""
    for holding in delta_holdings(case):
        found = {
            batch: commit
            for batch in case.checkpoint.offsets
            if (commit := _commit_of(holding, batch)) and is_planned_later(case, batch, commit)
        }
        if not found:
            continue
        batches = sorted(found)
        first = found[batches[0]]
        yield batch_planned_twice.find(
            what=(
                f"{holding.output.display_name} took {listed(batches)} of this query id before "
                f"this checkpoint planned the batch: batch {batches[0]} at {at(first.written_ms)}, "
                f"planned at {at(planned_ms(case, batches[0]))}. Delta skips what this checkpoint "
                "planned, and a restart does not bring those rows."
            ),
            how=(
                "Stop every other query with this query id, then write the ranges of these batches "
                "with a batch job, without the rows that the table has."
            ),
            accepting="the rows of these batches stay missing",
            follows_from=(
                *(f"offsets/{batch}" for batch in batches[:5]),
                *holding.files(first.version),
            ),
        )


def _commit_of(holding: Holding, batch: int) -> OutputCommit | None:
    return holding.output.commit_of(holding.query_id, batch) if holding.is_native else None


@rule("HF715", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def committed_batch_not_in_table(case: Case) -> Iterator[Finding]:
    """A committed batch left nothing in the table: its write was likely skipped or failed."""
    for holding in delta_holdings(case):
        application, held = holding.application, holding.batch
        if application is None or holding.is_native or held is None:
            continue
        there = {
            each.transactions[application]
            for each in holding.output.commits
            if application in each.transactions
        }
        if not there or held > case.newest_planned:
            continue
        gone = [
            batch for batch in case.checkpoint.commits if batch > min(there) and batch not in there
        ]
        if not gone:
            continue
        yield committed_batch_not_in_table.find(
            what=(
                f"The checkpoint has committed {listed(gone)}, but "
                f"{holding.output.display_name} has no such commit of {printable(application)}. If "
                "the "
                "function caught the error of its write, those rows are lost: Spark does not run a "
                "committed batch again."
            ),
            how=(
                "Let the function raise its errors, and write the ranges of these batches with a "
                "batch job."
            ),
            follows_from=(
                *(f"commits/{each}" for each in gone[:5]),
                f"{holding.output.display_name}",
            ),
        )


@rule("HF716", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.REPLAY)
def delta_behind_checkpoint(case: Case) -> Iterator[Finding]:
    """The Delta table lacks batches that the checkpoint has committed."""
    committed = case.newest_committed
    for holding in delta_holdings(case):
        held = holding.batch
        if not holding.is_native or held is None or held >= committed:
            continue
        gone = batch_range(held + 1, committed)
        yield delta_behind_checkpoint.find(
            what=(
                f"{holding.output.display_name} ends with batch {held} of this query, but the "
                "checkpoint "
                f"has committed batch {committed}. Spark continues after it: the rows of {gone} "
                "are missing and are not written again."
            ),
            how=(
                "Restore the newest copy of the table. If it is gone, rewind the checkpoint to "
                f"batch {held}{_how_to_rewind(case, held)}."
            ),
            accepting=f"the rows of {gone} stay missing",
            follows_from=(
                f"commits/{committed}",
                *holding.files(*(each.version for each in (holding.newest_commit,) if each)),
            ),
        )


def _how_to_rewind(case: Case, batch: int) -> str:
    if case.root is None:
        return " by hand"
    return f" with {plan_command(case, REWIND, f'--to-batch {batch}')}"
