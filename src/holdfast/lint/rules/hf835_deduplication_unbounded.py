"""HF835: a stream is deduplicated without a watermark.

## What it finds

`dropDuplicates` is applied to a stream without a watermark.

## What Spark does

Spark keeps every key in the state for ever. State, checkpoint and start-up time grow until the
query fails.

## What to do

Add `withWatermark` before it and put the event time among the columns, or use
`dropDuplicatesWithinWatermark`.

## Where this comes from

- Spark 4.2.0, `StreamingDeduplicateExec` in
  [statefulOperators.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/operators/stateful/statefulOperators.scala)
- Spark's documentation:
  [Streaming Deduplication](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#streaming-deduplication)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_DEDUPLICATES = {"dropDuplicates", "drop_duplicates"}


def _judge(program: Program) -> Iterator[LintFinding]:
    found: set[tuple[int, int]] = set()
    for query in program.queries:
        names = [step.name for step in query.source]
        if "readStream" not in names or "withWatermark" in names:
            continue
        for step in query.source[names.index("readStream") :]:
            if step.name in _DEDUPLICATES and step.at not in found:
                found.add(step.at)
                yield RULE.find(
                    "Without withWatermark, the state keeps every key for ever and grows until "
                    "the query fails.",
                    step.at,
                )


RULE = LintRule(
    code="HF835",
    name="deduplication-unbounded",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
