"""HF414: the query had state, and `state/` is empty.

## What it finds

The commit entries name state files, or the directory `state/` is there, and no state file is.

## What Spark does

Spark 4.2 refuses with `STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY`. Older versions plan
the batch and fail in its tasks.

## What to do

Restore `state/` with the age of the logs.

Without a backup, the open windows, the keys of a deduplication and the sums in it are lost. [Reset
a guarded stream](../../guides/reset.md), so that it computes them again from what the source
still has:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- [SPARK-54307](https://issues.apache.org/jira/browse/SPARK-54307)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore `state/` with the age of the logs."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW + without_backup(case))


RULE = Rule(
    code="HF414",
    name="state-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
