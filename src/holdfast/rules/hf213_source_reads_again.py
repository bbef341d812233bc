"""HF213: the offset of a source is gone from an entry, and Spark reads it again.

## What it finds

The line of a source in one of the two newest offset entries is `-`, and an older entry has an
offset for it. The entry was edited.

## What Spark does

Spark takes `-` for a source that has given nothing yet. From Spark 4.0 a pending batch without the
offset makes it read the source from its beginning. Spark says nothing.

## What to do

Restore the entry. The source's offset is also in the progress events of the batch.

## Where this comes from

- Spark 4.2.0, `deserialize` in
  [OffsetSeqLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeqLog.scala)
- Spark 4.2.0, `getStartOffset` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by
  `python -m campaigns.situations offset-taken-away offset-taken-away-from-a-pending-batch`
- Measured, in the repository, by `tests/spark/test_restart_state_logs.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Reread, Resumes, RunsAgain
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, Resumes | RunsAgain):
        return
    newest = case.newest_planned
    for each in start.rereads:
        yield RULE.find(
            what=(
                f"Spark will read source {each.source} again {_from(each)}, because offsets/"
                f"{newest} or the entry before it has no offset for it. The rows are duplicated."
            ),
            how="Restore the offset entry with the line of every source.",
            accepting=f"source {each.source} is read again {_from(each)} into the same sink",
            follows_from=start.follows_from,
        )


def _from(each: Reread) -> str:
    return "from its beginning" if each.after is None else f"from the end of batch {each.after}"


RULE = Rule(
    code="HF213",
    name="source-reads-again",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
