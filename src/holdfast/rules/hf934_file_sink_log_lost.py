"""HF934: the log of the file sink lacks an entry.

## What it finds

The last error says that `_spark_metadata` in the output directory lacks an entry or its `.compact`
file.

## What Spark does

Spark fails at every start. If `_spark_metadata` is deleted, readers see the files of failed
attempts as well.

## What to do

Restore `_spark_metadata`, or start with the old output directory. Without the log, begin a new
output directory together with a new checkpoint.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `BATCH_METADATA_NOT_FOUND` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.FILE_SINK_LOG,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF934",
    name="file-sink-log-lost",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.ERROR,
    judge=_judge,
)
