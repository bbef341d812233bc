"""HF704: RESTORE removed batches from the sink that the checkpoint will not write again.

## What it finds

The Delta table was taken back with RESTORE to a version from before some batches of this query. The
checkpoint has planned those batches.

## What Spark does

RESTORE takes back the data, not the transaction versions: the table still counts the batches as
written. Spark continues after them. Even if you rewind the checkpoint, Delta skips the batches that
Spark runs again. The rows stay missing, and nothing reports it.

## What to do

If the RESTORE was a mistake, restore the table to the version before it. If it was right (the
batches were bad), rewind the stream to the last batch that the restored version holds. For a
guarded stream the finding prints the command with the number of that batch:

```sh
holdfast plan rewind STREAM --root ROOT --to-batch 1 -o plan.json
```

There is no plan for a query without Holdfast. Rewind its checkpoint by hand, and put a new UUID
into `metadata`: then Delta accepts the batches again.

A function for `foreachBatch` that sets `txnAppId` needs another one before the start: Delta skips
the batches under the old one, whatever the checkpoint says.

## What accepting does

The rows of the removed batches stay missing.

## What it cannot see

Rows that were written again by hand after the RESTORE.

## Where this comes from

- [delta-io/delta#1813](https://github.com/delta-io/delta/issues/1813)
- Delta 4.4.0, `RestoreTableCommand` in
  [RestoreTableCommand.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/commands/RestoreTableCommand.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-sink-restored`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import REWIND, plan_command
from holdfast.rules.delta_batches import Holding, delta_holdings, listed
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for holding in delta_holdings(case):
        restores = [each for each in holding.output.commits if each.restores is not None]
        taken = _taken(holding, case.newest_planned)
        if not taken:
            continue
        batches, rows = sorted(taken), [each.rows for each in taken.values()]
        known = [each for each in rows if each is not None]
        lost = sum(known) if len(known) == len(rows) else None
        yield RULE.find(
            what=(
                f"RESTORE to version {restores[0].restores} removed {listed(batches)} of this "
                f"query from {holding.output.shown}"
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


RULE = Rule(
    code="HF704",
    name="delta-sink-restored",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.OUTPUT,
    judge=_judge,
)
