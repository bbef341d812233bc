"""Delta tables that were restored, emptied, recreated or forgot a batch."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import REWIND, plan_command, reset_advice
from holdfast.rules.delta_holdings import (
    Holding,
    at,
    delta_holdings,
    is_forgotten,
    listed,
    pending_batch,
    planned_ms,
)
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kind import Amount
from holdfast.wording import batch_range, count


@rule("HF704", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.REPLAY)
def delta_sink_restored(case: Case) -> Iterator[Finding]:
    """RESTORE removed batches from the sink that the checkpoint will not write again."""
    for holding in delta_holdings(case):
        restores = [each for each in holding.output.commits if each.restores is not None]
        taken = _taken(holding, case.newest_planned)
        if not taken:
            continue
        batches, rows = sorted(taken), [each.rows for each in taken.values()]
        known = [each for each in rows if each is not None]
        lost = sum(known) if len(known) == len(rows) else None
        yield delta_sink_restored.find(
            what=(
                f"RESTORE to version {restores[0].restores} removed {listed(batches)} of this "
                f"query from {holding.output.display_name}"
                f"{'' if lost is None else ', ' + count(lost, 'row')}. The checkpoint is past "
                "that, and the table still counts it as written: Spark does not write it again, "
                "and Delta would skip it."
            ),
            how=(
                "Restore the table to the version before the RESTORE, or rewind the checkpoint to "
                f"batch {batches[0] - 1}{_how_to_rewind(case, holding, batches[0] - 1)}."
            ),
            accepting="these rows stay missing",
            follows_from=(
                *holding.files(restores[0].version, taken[batches[0]].version),
                f"offsets/{case.newest_planned}",
            ),
            amount=None if lost is None else Amount(number=lost, unit="record"),
        )


def _how_to_rewind(case: Case, holding: Holding, batch: int) -> str:
    """Say how, and what else lets Delta take the batches again."""
    command = ""
    if case.root is not None and batch >= 0:
        command = f" with {plan_command(case, REWIND, f'--to-batch {batch}')}"
    if not holding.is_native:
        application = printable(holding.application or "")
        return (
            f"{command} and give the function another txnAppId than {application} before the start"
        )
    return command or " and put a new UUID into its metadata file"


def _taken(holding: Holding, newest: int) -> dict[int, OutputCommit]:
    """Return the query's batches that a RESTORE took out and nothing brought back."""
    output, application = holding.output, holding.application or ""
    brought = [
        (commit.transactions[application], commit)
        for commit in output.commits
        # In complete mode the next batch writes everything again.
        if application in commit.transactions and commit.output_mode != "Complete"
    ]
    held = {batch for batch, each in brought if _holds(output, output.newest, each.version)}
    return {batch: each for batch, each in brought if batch <= newest and batch not in held}


def _holds(output: DeltaOutput, version: int, contained: int) -> bool:
    """Return whether the table, as of a version, has what a commit brought."""
    for commit in output.commits:
        if contained < commit.version <= version and commit.restores is not None:
            earlier = min(commit.restores, commit.version - 1)  # in a log that is not forged
            return _holds(output, earlier, contained)
    return contained <= version


@rule("HF705", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.REPLAY)
def delta_sink_emptied(case: Case) -> Iterator[Finding]:
    """An overwrite or a TRUNCATE removed batches that the checkpoint will not write again."""
    for holding in delta_holdings(case):
        emptied = next(
            (
                each
                for each in holding.output.commits
                if _replaces(each) and holding.application not in each.transactions
            ),
            None,
        )
        if emptied is None or holding.application is None:
            continue
        before = [
            commit.transactions[holding.application]
            for commit in holding.output.commits
            if commit.version < emptied.version
            and holding.application in commit.transactions
            and commit.output_mode != "Complete"
        ]
        if not before or _is_restored(holding, emptied.version):
            continue
        yield delta_sink_emptied.find(
            what=(
                f"{printable(emptied.operation)} at {at(emptied.written_ms)} replaced the content "
                f"of {holding.output.display_name}, with batch {max(before)} of this query and all "
                "before it. Spark continues after them and does not write them again."
            ),
            how=(
                f"Restore the table to version {emptied.version - 1}. If it is to be filled "
                f"again, {reset_advice(case)}."
            ),
            follows_from=(*holding.files(emptied.version), f"offsets/{case.newest_planned}"),
        )


def _replaces(commit: OutputCommit) -> bool:
    """Return whether nothing that was there before is sure to be there still."""
    is_restore = commit.operation == "RESTORE" and commit.restores is None  # to a timestamp
    return commit.replaces_all or is_restore


def _is_restored(holding: Holding, version: int) -> bool:
    """Return whether a later RESTORE took the table back to before a version."""
    return any(
        each.version > version and each.restores is not None and each.restores < version
        for each in holding.output.commits
    )


@rule("HF713", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def transaction_forgotten(case: Case) -> Iterator[Finding]:
    """Delta has forgotten that the table holds the pending batch, and writes it again."""
    batch = pending_batch(case)
    if batch is None:
        return
    for holding in delta_holdings(case):
        commit, output = holding.newest_commit, holding.output
        if commit is None or holding.batch != batch or not is_forgotten(case, output, commit):
            continue
        rows = commit.rows
        yield transaction_forgotten.find(
            what=(
                f"{output.display_name} has the pending batch {batch} since "
                f"{at(commit.written_ms)}, but "
                f"it forgets transactions after {output.transaction_retention}. Spark runs the "
                "batch again, and Delta writes "
                f"{'its rows' if rows is None else 'its ' + count(rows, 'row')} twice."
            ),
            how=(
                "Remove the table property delta.setTransactionRetentionDuration, or raise it, "
                "before you start the query."
            ),
            accepting=f"the rows of batch {batch} are duplicated",
            follows_from=(f"offsets/{batch}", *holding.files(commit.version)),
            amount=None if rows is None else Amount(number=rows, unit="record"),
        )


@rule("HF714", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def delta_sink_recreated(case: Case) -> Iterator[Finding]:
    """The table is gone or empty: the checkpoint does not fill it again."""
    committed = case.newest_committed
    for holding in delta_holdings(case) if committed >= 0 else ():
        missing = _missing(case, holding)
        if missing is None:
            continue
        last, why = missing
        yield delta_sink_recreated.find(
            what=(
                f"{holding.output.display_name} {why}, but the checkpoint has committed batch "
                f"{committed}. Spark continues after it: {batch_range(0, last)} of this query "
                f"{'is' if last == 0 else 'are'} not written again."
            ),
            how=(
                "Check the location. If the query was moved, copy the old table first. If the "
                f"table was dropped, restore it or {reset_advice(case)}."
            ),
            accepting="rows of the earlier batches stay missing",
            follows_from=(f"commits/{committed}", f"{holding.output.display_name}, its log"),
        )


def _missing(case: Case, holding: Holding) -> tuple[int, str] | None:
    """Return the last batch that the table lacks, and how that is known; None when it has all."""
    output, committed = holding.output, case.newest_committed
    if output.newest < 0:
        return committed, "does not exist"
    if not output.reads_all or output.created_ms is None:
        return None
    if all(each.operation.startswith("CREATE") and not each.rows for each in output.commits):
        is_later = (planned_ms(case, committed) or output.created_ms) < output.created_ms
        return (committed, f"is empty since {at(output.created_ms)}") if is_later else None
    first = min(
        (
            each.transactions[holding.query_id]
            for each in output.commits
            if holding.query_id in each.transactions
        ),
        default=0,
    )
    before = planned_ms(case, first - 1) if first > 0 else None
    if before is None or before > output.created_ms:
        return None
    return first - 1, f"was created at {at(output.created_ms)} and begins with batch {first}"
