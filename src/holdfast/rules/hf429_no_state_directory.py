"""HF429: there is no `state/`, which is right for a stateless query only.

## What it finds

The query has run, and there is no `state/` directory. Nothing else in such a checkpoint shows
whether the query keeps state.

## What Spark does

A stateless query starts. A query that keeps state is refused: its state is gone.

## What to do

Nothing for a stateless query. Otherwise restore `state/` with the age of the logs.

## Where this comes from

- Spark 4.2.0, `STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- [SPARK-54307](https://issues.apache.org/jira/browse/SPARK-54307)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if isinstance(start, Resumes | RunsAgain) and start.unless is not None:
        yield RULE.find(
            what=f"Spark will refuse to start if {start.unless}.",
            how="Nothing needs to be done for a stateless query.",
            follows_from=("state/",),
        )


RULE = Rule(
    code="HF429",
    name="no-state-directory",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
