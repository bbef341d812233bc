"""HF207: a newer commit entry is there, and every start repeats a batch and fails.

## What it finds

`commits/` has an entry for the batch that Spark will run. Offset entries were deleted, and their
commit entries were not.

## What Spark does

Spark runs the newest batch of `offsets/` again, writes it to the sink, and fails with
`CONCURRENT_STREAM_LOG_UPDATE` when it writes the commit entry. There is no second query. A restart
loop writes the batch once more with every attempt.

## What to do

Stop the restart loop first. The ledgers give the entries back to a guarded stream, and nothing is
written twice:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

For a bare checkpoint, restore the deleted offset entries. If they are lost, this plan takes back
the commit entries, and Spark runs those batches again. The sink gets their rows again, so the plan
asks for `--allow repeats-data`:

```sh
holdfast plan resume LOCATION -o plan.json
```

A query with state cannot go back so: its state is of the newest committed batch. If the ledgers
cannot give its entries back, and there is no backup, [reset it](../../guides/reset.md):

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What it cannot see

Whether the sink recognises the batch. Delta's own sink and the file sink do; an append in
`foreachBatch` does not.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `markMicroBatchEnd` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `CONCURRENT_STREAM_LOG_UPDATE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m campaigns.situations offset-entry-deleted`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import can_rebuild, plan_command, resuming, without_backup
from holdfast.rules.predicted import find_failure_after
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Stop the restarts, and restore the offset entries that were deleted."


def _how(case: Case) -> str:
    if can_rebuild(case):
        return f"Stop the restarts. {resuming(case, otherwise='')}"
    if case.is_stateful or case.newest_planned < 0:
        return f"{_HOW}{without_backup(case)}"
    command = plan_command(case, Goal.RESUME)
    return (
        f"{_HOW} If they are lost, run {command}: Spark runs the batches again, and a sink "
        "without a ledger gets their rows again."
    )


def _judge(case: Case) -> Iterator[Finding]:
    if case.newest_committed <= case.newest_planned:
        return iter(())  # something else is in the place of the commit entry
    return find_failure_after(RULE, case, error="CONCURRENT_STREAM_LOG_UPDATE", how=_how(case))


RULE = Rule(
    code="HF207",
    name="commit-ahead-of-offsets",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
