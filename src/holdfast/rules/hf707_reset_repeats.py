"""HF707: a new checkpoint on a table that an earlier query filled: everything is read again.

## What it finds

The checkpoint is new, and the Delta table holds batches of another query id. The checkpoint was
deleted, or its location changed. It is *likely*: it holds if this query replaces the earlier one
and reads its source from the beginning.

## What Spark does

A new checkpoint has a new query id, so Delta recognises none of its batches. Files and Delta tables
are read from their beginning, and Kafka with `startingOffsets=earliest`. All rows that the table
has are written again.

## What to do

Restore the old checkpoint. If it is gone, start the new one after what the table holds, with
`startingOffsets` or `startingVersion`, or empty the table first.

## What it cannot see

Where the source begins, and whether the other query is another stream that belongs here.

## Where this comes from

- Spark 4.2.0, `read` in
  [StreamMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamMetadata.scala)
- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-reset`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import at, delta_holdings, earlier_queries, is_fresh
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if not is_fresh(case):
        return
    for holding in delta_holdings(case):
        for query_id, commit in earlier_queries(holding).items():
            if commit.output_mode == "Complete" or holding.batch is not None:
                continue
            yield RULE.find(
                what=(
                    f"The checkpoint is new, and {holding.output.shown} holds batches of query "
                    f"{query_id}, the last at {at(commit.written_ms)}. If this query replaces that "
                    "one and reads its source from the beginning, Spark writes all rows again."
                ),
                how=(
                    "Restore the old checkpoint, or start the new one after what the table holds: "
                    "with startingOffsets (Kafka), with startingVersion (Delta), or without the "
                    "files that were read."
                ),
                follows_from=("offsets", *holding.files(commit.version)),
            )


RULE = Rule(
    code="HF707",
    name="reset-repeats",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
