"""HF833: the trigger once is deprecated.

## What it finds

A query is triggered with `once=True`.

## What Spark does

Spark reads everything that is there in one batch, without the rate limits of the source. After a
failure it runs the failed batch alone and stops, so new data waits for another run.

## What to do

Use `availableNow=True`.

## Where this comes from

- Spark 4.2.0, `SingleBatchExecutor` in
  [TriggerExecutor.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/TriggerExecutor.scala)
- Spark's documentation:
  [Triggers](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#triggers)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        step = query.step("trigger")
        given = step.text(9, "once") if step else None
        if step and given and given.known == "True":
            yield RULE.find(
                "trigger(once=True) is deprecated. It reads everything in one batch, and after a "
                "failure it runs the failed batch alone. Use availableNow=True.",
                step.at,
            )


RULE = LintRule(
    code="HF833",
    name="trigger-once",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
