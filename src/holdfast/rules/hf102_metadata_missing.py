"""HF102: the file `metadata` is missing, and Spark 4.2 refuses to start.

## What it finds

The file `metadata` is not there, but `offsets/` or `commits/` have entries. A lifecycle rule of a
bucket often takes it first, because it is the oldest file.

## What Spark does

Spark 4.2 and later refuse with `STREAMING_CHECKPOINT_MISSING_METADATA_FILE`. Older versions
continue under a new query id, so that sinks no longer recognise a batch that they hold.

## What to do

A guarded stream has the query id in its [record](../record.md#a-generation). This writes it again:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

A bare checkpoint is repaired by hand: write `{"id":"<query id>"}` into `metadata`. The id is in a
Delta sink's `txn` actions and in the driver's log.

## Where this comes from

- Spark 4.2.0, `streamMetadata` in
  [StreamingQueryCheckpointMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamingQueryCheckpointMetadata.scala)
- [SPARK-55058](https://issues.apache.org/jira/browse/SPARK-55058)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Write `metadata` again, with the query id that the sink or the driver's log names."


def _how(case: Case) -> str:
    if case.root is None:
        return _HOW
    return f"Run {plan_command(case, Goal.RESUME)}: it writes the query id of the record."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_how(case))


RULE = Rule(
    code="HF102",
    name="metadata-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
