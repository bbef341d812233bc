"""HF706: the table counts more batches for an application id than the checkpoint has.

## What it finds

A function for `foreachBatch` writes the Delta table with a fixed `txnAppId`, and the table counts
more batches for that id than the checkpoint has. The checkpoint is new, or an old copy. It is
*likely*: it holds if this query still uses that application id.

## What Spark does

Batch numbers begin at 0 again with a new checkpoint. Delta skips every batch whose number is not
higher than the one that the table holds, and logs one INFO line for each. Spark commits the
batches. Their rows are lost.

## What to do

Give every new checkpoint a new application id: put the query id into it, or a number that you raise
with each reset. Rows of batches that were already skipped need a batch job.

## What it cannot see

Which application id the query's code uses: that is not in the checkpoint.

## Where this comes from

- Delta 4.4.0, `hasBeenExecuted` in
  [DeltaCommand.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/commands/DeltaCommand.scala)
- Delta's documentation:
  [Idempotent table writes in foreachBatch](https://docs.delta.io/delta-streaming/#idempotent-table-writes-in-foreachbatch)
- Measured, in the repository, by
  `python -m campaigns.situations delta-fixed-application-id`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain, StartsFresh
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.delta_batches import delta_holdings
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, Resumes | RunsAgain | StartsFresh):
        return
    first = case.newest_planned + 1
    for holding in delta_holdings(case):
        held = holding.batch
        if holding.application is None or holding.is_native or held is None or held < first:
            continue
        yield RULE.find(
            what=(
                f"{holding.output.shown} counts batch {held} for the application id "
                f"{printable(holding.application)}, but the checkpoint plans batch {first} next. "
                f"If the query still uses that id, Delta skips {batch_range(first, held)}, and "
                "their rows are lost."
            ),
            how=(
                "Change txnAppId in the query's code before you start it: put the query id or a "
                "reset number into it."
            ),
            follows_from=(
                *start.follows_from,
                *holding.files(*(each.version for each in (holding.newest_commit,) if each)),
            ),
        )


RULE = Rule(
    code="HF706",
    name="fixed-application-id",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
