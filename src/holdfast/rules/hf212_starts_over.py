"""HF212: Spark begins with batch 0 over what an earlier run left.

## What it finds

There are no offset entries, but commits, state or source logs of an earlier run are there, and the
Spark to be started does not refuse that. A part of the checkpoint was deleted.

## What Spark does

Spark plans batch 0. The source begins where it first began, or where its starting options say, and
the sink keeps what it has. State files of the earlier run stay and can be mistaken for new ones.

## What to do

The ledgers give the logs back to a guarded stream without state:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

For every other checkpoint, restore `offsets/` and `commits/`. If you meant to begin again, [reset
the stream](../../guides/reset.md): use a new checkpoint and a new or an empty sink.

## What it cannot see

The starting options. With `startingOffsets=latest` Spark skips data instead of reading it again,
unless `sources/` still holds where the source began.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `verifyNewCheckpointDirectory` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by
  `python -m campaigns.situations logs-deleted-and-sources-left`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import StartsFresh
from holdfast.evidence.verdict import has_only_begun, has_run
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting, resuming
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start, checkpoint = case.next_start, case.checkpoint
    if not isinstance(start, StartsFresh) or not has_run(checkpoint):
        return
    if has_only_begun(checkpoint):
        return
    parts = {
        "commits": checkpoint.commits,
        "sources": checkpoint.sources,
        "state": checkpoint.state,
    }
    there = [f"{name}/" for name, found in parts.items() if found]
    yield RULE.find(
        what=(
            f"Spark will begin with batch 0 and read its sources again, although "
            f"{' and '.join(there)} show that the query has run. The sink keeps what it has: rows "
            "are duplicated."
        ),
        how=resuming(
            case,
            otherwise=f"Restore `offsets/` and `commits/`. To begin again, {resetting(case)}.",
        ),
        accepting="everything that the sources still have is read again into the same sink",
        follows_from=(*start.follows_from, *there),
    )


RULE = Rule(
    code="HF212",
    name="starts-over",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
