"""HF203: the offset entry before the newest one is missing.

## What it finds

The newest offset entry is there, and the one before it is not. It was deleted, or a copy is
incomplete.

## What Spark does

Spark reads the entry before the newest one at every start, because it holds where the newest batch
begins. It fails with `batch N doesn't exist`.

## What to do

If the newest batch is committed, Spark asks for the entry and does not use its content. This plan
writes it again. `LOCATION` is the checkpoint; a guarded stream is named by `STREAM --root ROOT`:

```sh
holdfast plan resume LOCATION -o plan.json
```

If the newest batch is pending, the entry says where it begins. The ledgers know that of a guarded
stream without state, and the same command writes it again. Otherwise restore the entry: its offsets
are also the start offsets of the next batch in the query's progress events. Do not delete the
newest entry, as Spark's log suggests: the sink would then skip or duplicate a batch.

A guarded stream with state for which there is no backup is [reset](../../guides/reset.md), and its
state is computed again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `validateOffsetLogAndGetPrevOffset` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- [SPARK-38033](https://issues.apache.org/jira/browse/SPARK-38033)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command, resuming, without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the missing entry; do not delete the newest one."


def _how(case: Case) -> str:
    if case.newest_committed < case.newest_planned:
        return resuming(case, otherwise=f"{_HOW}{without_backup(case)}")
    command = plan_command(case, Goal.RESUME)
    return f"Run {command}: it writes the missing entry again. Do not delete the newest one."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_how(case))


RULE = Rule(
    code="HF203",
    name="previous-offset-entry-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
