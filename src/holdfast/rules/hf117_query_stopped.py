"""HF117: the query has not run for a day, and those beside it have.

## What it finds

The newest batch is more than a day older than those of at least two other checkpoints that are
current. One of several queries in a driver can die while the job continues.

## What Spark does

A restart continues where the query stopped, if the source still has what arrived since.

## What to do

Find out why the query stopped: pass its log with `--error`. Wait for any of the queries with
`awaitAnyTermination`, so that the job ends when one dies.

## What it cannot see

Whether anything arrived for the query meanwhile.

## Where this comes from

- Spark's documentation:
  [Managing Streaming Queries](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#managing-streaming-queries)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import DAY_MS, span_text
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule

_LEAST = 2


def _judge(case: Case) -> Iterator[Finding]:
    newest = None if case.overview is None else case.overview.progress.newest_ms
    now = case.now.timestamp() * 1_000
    live = [each for each in case.neighbours if each.newest_ms and each.newest_ms > now - DAY_MS]
    if newest is None or len(live) < _LEAST or newest > now - 2 * DAY_MS:
        return
    yield RULE.find(
        what=(
            f"The newest batch began {span_text(now - newest)} ago, while {len(live)} checkpoints "
            f"that were compared are current. {spark_will(case)} continue there, if the "
            "source still has "
            "what arrived since."
        ),
        how="Find out why the query stopped before you start it, and probe its source.",
        follows_from=(f"offsets/{case.newest_planned}", *(each.location for each in live[:20])),
    )


RULE = Rule(
    code="HF117",
    name="query-stopped",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.NEIGHBOURS,
    judge=_judge,
)
