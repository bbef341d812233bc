"""HF935: the source no longer has the position in the checkpoint.

## What it finds

The last error came from a source that no longer has the checkpoint's position: an expired Iceberg
snapshot, a shard of Kinesis, a sequence number of Event Hubs, a resume token of MongoDB, a snapshot
of Hudi or Paimon, or an input file that was deleted.

## What Spark does

Spark fails at every start. Some connectors move the position by themselves instead, and the rows in
between are lost.

## What to do

Find out which rows are gone. Reset the stream from the earliest position, and backfill the gap from
another copy.

## What it cannot see

Only Iceberg's words and Spark's own are from their source code. Those of other connectors are from
public reports.

## Where this comes from

- Iceberg 1.11.0, `the snapshot was expired or removed` in
  [SyncSparkMicroBatchPlanner.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SyncSparkMicroBatchPlanner.java)
- Spark 4.2.0, `FAILED_READ_FILE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.SNAPSHOT_EXPIRED,
    Cause.POSITION_EXPIRED,
    Cause.INPUT_FILE_GONE,
)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF935",
    name="source-position-expired",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.ERROR,
    judge=_judge,
)
