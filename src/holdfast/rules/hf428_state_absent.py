"""HF428: the query has a watermark and no `state/`: if it keeps state, that is gone.

## What it finds

The logs have a watermark, as stateful queries do, and there is no `state/` directory.

## What Spark does

If the query keeps state, Spark refuses: with `STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY`
from Spark 4.2, with a missing state file before. A stateless query that only names a watermark
starts.

## What to do

If the query aggregates, deduplicates or joins, restore `state/` with the age of the logs.

## What it cannot see

Whether the query keeps state. With `holdfast check` the query answers.

## Where this comes from

- Spark 4.2.0, `STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- [SPARK-54307](https://issues.apache.org/jira/browse/SPARK-54307)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Unknown, UnknownCause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if isinstance(start, Unknown) and start.cause is UnknownCause.STATE_ABSENT:
        yield RULE.find(
            what=f"{start.because}.",
            how="If the query keeps state, restore `state/` with the age of the logs.",
            follows_from=start.follows_from,
        )


RULE = Rule(
    code="HF428",
    name="state-absent",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
