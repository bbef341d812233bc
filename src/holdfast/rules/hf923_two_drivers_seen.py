"""HF923: two drivers wrote to one checkpoint, or offset entries were deleted.

## What it finds

The last error says that another query uses the same checkpoint. If the commits are ahead of the
offsets, the finding says that offset entries were deleted instead: Spark fails with the same words.

## What Spark does

One of the two drivers fails. Both can have written the same batch to a sink without a ledger. On S3
both can win, and the checkpoint then describes rows that the sink does not have.

## What to do

Stop every driver of the query. Compare the last batches in the sink with the offsets. Then start
one. A guarded start takes a lease, so that a second driver is refused.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `CONCURRENT_STREAM_LOG_UPDATE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Spark 4.2.0, `Multiple streaming queries are concurrently using` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Spark's documentation:
  [Integration with Cloud Infrastructures](https://spark.apache.org/docs/latest/cloud-integration.html)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.TWO_DRIVERS,
    Cause.SAME_QUERY_ACTIVE,
)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF923",
    name="two-drivers-seen",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
