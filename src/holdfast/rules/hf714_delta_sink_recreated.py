"""HF714: the table is gone or empty: the checkpoint does not fill it again.

## What it finds

The checkpoint has committed batches, and the Delta table at the given location does not exist, was
created after them and is still empty, or begins with a later batch of this query. The table was
dropped and created again, or the query writes to another table than before.

## What Spark does

Spark continues after the last batch. It creates a table that is missing. Rows of the earlier
batches are not written again.

## What to do

Check that the location is the one that the query writes to. If the query was moved to a new table,
copy the old table there first. If the table was dropped, restore it, or [reset the
stream](../../guides/reset.md) so that it reads the source from its beginning. The plan for a
guarded stream:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

The rows of the earlier batches stay missing.

## What it cannot see

Rows that the committed batches did not have: batches can be empty.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Measured, in the repository, by
  `python -m campaigns.situations delta-sink-dropped delta-sink-recreated`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.delta_batches import Holding, at, delta_holdings, planned_ms
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for holding in delta_holdings(case) if committed >= 0 else ():
        missing = _missing(case, holding)
        if missing is None:
            continue
        last, why = missing
        yield RULE.find(
            what=(
                f"{holding.output.shown} {why}, but the checkpoint has committed batch "
                f"{committed}. Spark continues after it: {batch_range(0, last)} of this query "
                f"{'is' if last == 0 else 'are'} not written again."
            ),
            how=(
                "Check the location. If the query was moved, copy the old table first. If the "
                f"table was dropped, restore it or {resetting(case)}."
            ),
            accepting="rows of the earlier batches stay missing",
            follows_from=(f"commits/{committed}", f"{holding.output.shown}, its log"),
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


RULE = Rule(
    code="HF714",
    name="delta-sink-recreated",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
