"""HF106: older versions of Spark can no longer read the checkpoint.

## What it finds

A log entry, a state file or a pinned setting has a format that older versions of Spark do not know.

## What Spark does

The version that wrote it starts. After a rollback to an older version, Spark refuses.

## What to do

Keep a copy of the checkpoint from before an upgrade, together with the state of the sink, if you
may need to go back.

## Where this comes from

- Spark 4.2.0, `validateVersion` in
  [MetadataVersionUtil.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/MetadataVersionUtil.scala)
- Spark's documentation:
  [Structured Streaming Migration Guide](https://spark.apache.org/docs/latest/streaming/ss-migration-guide.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.versions import KNOWN, version_text
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    readers = None if case.overview is None else case.overview.readers
    if readers is None or not readers.versions or len(readers.versions) == len(KNOWN):
        return
    oldest = version_text(readers.versions[0])
    yield RULE.find(
        what=f"Spark before {oldest} will refuse the checkpoint: {readers.because[0]}.",
        how=f"Start with Spark {oldest} or later.",
        follows_from=readers.because,
    )


RULE = Rule(
    code="HF106",
    name="older-spark-cannot-read",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
