"""HF709: the table holds the pending batch under an earlier query id: it is written twice.

## What it finds

The query id in `metadata` is new to the Delta table, and the table holds the pending batch under
another id: it took every batch of this checkpoint under that id, each while the checkpoint had it
planned. The file `metadata` was lost and made again. Spark 4.1 and earlier make it again without a
word.

## What Spark does

Spark runs the pending batch again under the new id. Delta does not recognise it and writes it a
second time. Later batches are not affected.

## What to do

Put the old query id back into `metadata`.

## What accepting does

The rows of the pending batch are duplicated.

## What it cannot see

An earlier id whose commits are no longer among those that were read.

## Where this comes from

- Spark 4.2.0, `read` in
  [StreamMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamMetadata.scala)
- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-new-query-id`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import (
    Holding,
    delta_holdings,
    earlier_queries,
    pending_batch,
    planned_ms,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    batch = pending_batch(case)
    if batch is None or case.newest_committed < 0:
        return
    for holding in delta_holdings(case):
        if holding.application == holding.query_id:
            continue
        for query_id in earlier_queries(holding):
            commit = holding.output.commit_of(query_id, batch)
            if commit is None or not _is_of_checkpoint(case, holding, query_id):
                continue
            rows = commit.rows
            yield RULE.find(
                what=(
                    f"{holding.output.shown} holds the pending batch {batch} under query id "
                    f"{query_id}, and the file metadata now has {holding.query_id}. Spark runs the "
                    "batch again, and Delta writes "
                    f"{'its rows' if rows is None else 'its ' + count(rows, 'row')} twice."
                ),
                how=f"Put the id {query_id} back into the file metadata before you start.",
                accepting=f"the rows of batch {batch} are duplicated",
                follows_from=("metadata", f"offsets/{batch}", *holding.files(commit.version)),
                amount=None if rows is None else Amount(number=rows, unit="record"),
            )


def _is_of_checkpoint(case: Case, holding: Holding, query_id: str) -> bool:
    """Return whether a query wrote the newest batches of this checkpoint, each when planned."""
    newest = case.newest_planned
    for batch in (newest - 1, newest):
        commit = holding.output.commit_of(query_id, batch)
        began, ended = planned_ms(case, batch), planned_ms(case, batch + 1)
        if commit is None or commit.written_ms is None or began is None:
            return False
        if commit.written_ms < began or (ended is not None and commit.written_ms > ended):
            return False
    return True


RULE = Rule(
    code="HF709",
    name="pending-batch-under-another-id",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
