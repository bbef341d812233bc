"""HF924: Kafka does not have what the checkpoint needs.

## What it finds

The last error says that Kafka's offsets do not fit the checkpoint: records were deleted by
retention, the topic was created again, or topics were added or removed.

## What Spark does

Spark fails at every start. With `failOnDataLoss=false` it starts and skips: records that are gone
are lost, and of a topic that was created again the first records are never read.

## What to do

Find out which of the three it is with `holdfast diagnose --probe`. Then follow the remedy in the
finding. Do not leave `failOnDataLoss=false` on.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `KAFKA_DATA_LOSS` in
  [kafka-error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/resources/error/kafka-error-conditions.json)
- Spark 4.2.0, `reportDataLoss` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.KAFKA_EXPIRED,
    Cause.KAFKA_RECREATED,
    Cause.KAFKA_SUBSCRIPTION,
)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF924",
    name="kafka-refused-offsets",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.ERROR,
    judge=_judge,
)
