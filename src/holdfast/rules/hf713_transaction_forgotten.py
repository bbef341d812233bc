"""HF713: Delta has forgotten that the table holds the pending batch, and writes it again.

## What it finds

The Delta table holds the pending batch, and `delta.setTransactionRetentionDuration` is shorter than
the time since. Delta no longer counts the transaction.

## What Spark does

Spark runs the pending batch again. Delta does not recognise it and writes its rows a second time.

## What to do

Raise the property, or remove it, before you start the query: the transaction is still in the log
and counts again. Keep it longer than the longest outage.

## What accepting does

The rows of the pending batch are duplicated.

## What it cannot see

Transactions whose commits are no longer in the log.

## Where this comes from

- Delta 4.4.0, `setTransactionRetentionDuration` in
  [DeltaConfig.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/DeltaConfig.scala)
- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Measured, in the repository, by
  `python -m campaigns.situations delta-transaction-forgotten`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import at, delta_holdings, is_forgotten, pending_batch
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    batch = pending_batch(case)
    if batch is None:
        return
    for holding in delta_holdings(case):
        commit, output = holding.newest_commit, holding.output
        if commit is None or holding.batch != batch or not is_forgotten(case, output, commit):
            continue
        rows = commit.rows
        yield RULE.find(
            what=(
                f"{output.shown} has the pending batch {batch} since {at(commit.written_ms)}, but "
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


RULE = Rule(
    code="HF713",
    name="transaction-forgotten",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
