"""HF202: a log entry that Spark reads at every start is damaged.

## What it finds

The newest offset entry, the one before it, or the newest commit entry is empty, cut off or of an
unknown version. A full disk or an editor does that.

## What Spark does

Spark reads these three entries at every start and fails: `Incomplete log file`,
`MALFORMED_LOG_FILE`, or an error of the JSON parser.

## What to do

Plan the repair. `LOCATION` is the checkpoint; a guarded stream is named by `STREAM --root ROOT`:

```sh
holdfast plan resume LOCATION -o plan.json
```

What the plan does depends on the entry:

- The newest commit entry is removed, and Spark runs its batch again with the same range. A sink
  without a ledger gets the rows again: the plan asks for `--allow repeats-data`.
- The newest offset entry of a batch that is not committed is removed, and Spark plans the batch
  again. If the sink may hold a part of it, restore the entry instead.
- The entry before the newest one is written again, if the newest batch is committed.
- The offset entry of a committed batch is written again from the ledgers, if the stream is guarded.
  A bare checkpoint has no ledger: restore the entry from a backup.

A query with state needs the state and the commit entries of its last two batches for that. Without
them, restore the entry, or [reset the stream](../../guides/reset.md), so that the state is computed
again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `deserialize` in
  [OffsetSeqLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeqLog.scala)
- Spark 4.2.0, `deserialize` in
  [CommitLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/CommitLog.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.commands import plan_command, resuming, without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the entry from a backup or an object version."


def _how(case: Case) -> str:
    checkpoint, planned = case.checkpoint, case.newest_planned
    is_offset = isinstance(checkpoint.offsets.get(BatchId(planned)), Unparsed)
    command = plan_command(case, Goal.RESUME)
    if case.newest_committed > planned or (is_offset and case.newest_committed == planned):
        return resuming(case, otherwise=f"{_HOW}{without_backup(case)}")
    if is_offset:
        return (
            f"Restore offsets/{planned}. If the sink holds nothing of batch {planned}, run "
            f"{command}: Spark then plans the batch again."
        )
    if isinstance(checkpoint.offsets.get(BatchId(planned - 1)), Unparsed):
        is_used = case.newest_committed < planned
        written = f"Run {command}: it writes offsets/{planned - 1} again."
        return resuming(case, otherwise=f"{_HOW}{without_backup(case)}") if is_used else written
    return f"Run {command}: it removes the commit entry, and Spark runs the batch again."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_how(case))


RULE = Rule(
    code="HF202",
    name="entry-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
