"""HF415: the directory of a stateful operator is missing.

## What it finds

`state/` has the directory of a later operator, and not that of an earlier one.

## What Spark does

From Spark 4.0 the start fails with `STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA`. Spark
3.5 fails in the batch, because a state file is missing.

## What to do

Restore `state/<operator>` with the age of the logs.

Without a backup, the open windows, the keys of a deduplication and the sums in it are lost. [Reset
a guarded stream](../../guides/reset.md), so that it computes them again from what the source
still has:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `checkOperatorValidWithMetadata` in
  [IncrementalExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/IncrementalExecution.scala)
- Spark 4.2.0, `STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- [SPARK-46906](https://issues.apache.org/jira/browse/SPARK-46906)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the directory of the operator."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW + without_backup(case))


RULE = Rule(
    code="HF415",
    name="state-operator-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
