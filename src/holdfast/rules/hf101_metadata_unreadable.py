"""HF101: the file `metadata` is damaged, and Spark refuses to start.

## What it finds

The file `metadata` is empty, cut off or no JSON. It holds the query id, by which sinks recognise
the query.

## What Spark does

Every version of Spark reads `metadata` first and fails. Depending on the damage, the error names
Jackson's JSON parser or an empty file.

## What to do

A guarded stream has the query id in its [record](../record.md#a-generation). This writes it again:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

A bare checkpoint is repaired by hand. Restore `metadata` from a backup or an object version. The
query id is also in a Delta sink's `txn` actions and in the driver's log (`[id = …`): write
`{"id":"<query id>"}`. Do not delete the file: older versions of Spark then take a new query id.

## Where this comes from

- Spark 4.2.0, `read` in
  [StreamMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamMetadata.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore `metadata`, with the same query id."


def _how(case: Case) -> str:
    if case.root is None:
        return _HOW
    return f"Run {plan_command(case, Goal.RESUME)}: it writes the query id of the record."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_how(case))


RULE = Rule(
    code="HF101",
    name="metadata-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
