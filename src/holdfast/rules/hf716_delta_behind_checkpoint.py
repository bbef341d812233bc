"""HF716: the Delta table lacks batches that the checkpoint has committed.

## What it finds

Spark's own Delta sink writes every batch into the table, empty ones too, before Spark commits it.
The table's newest batch is older than the checkpoint's. An old copy of the table was put back, or
commits were deleted from its log.

## What Spark does

Spark continues after the newest committed batch. The batches between are not written again.

## What to do

Restore the newest copy of the table. If it is gone, rewind the stream to the batch that the table
has. For a guarded stream the finding prints the command with the number of that batch:

```sh
holdfast plan rewind STREAM --root ROOT --to-batch 1 -o plan.json
```

There is no plan for a query without Holdfast: rewind its checkpoint by hand.

## What accepting does

The rows of the named batches stay missing.

## What it cannot see

How many rows the missing batches had.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-old-table`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import REWIND, plan_command
from holdfast.rules.delta_batches import delta_holdings
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for holding in delta_holdings(case):
        held = holding.batch
        if not holding.is_native or held is None or held >= committed:
            continue
        gone = batch_range(held + 1, committed)
        yield RULE.find(
            what=(
                f"{holding.output.shown} ends with batch {held} of this query, but the checkpoint "
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


RULE = Rule(
    code="HF716",
    name="delta-behind-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.OUTPUT,
    judge=_judge,
)
