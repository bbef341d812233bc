"""HF605: the sink's last batch has the same number as in the checkpoint, and other content.

## What it finds

The sink's last batch has the same number as in the checkpoint, and other content. `offsets/N` or
the source's own log was changed after the batch was written.

## What Spark does

Spark would continue from the changed entry, and read some rows twice or not at all.

## What to do

Restore `offsets/N` and `sources/` as they were when the batch ran. If there is no backup, this plan
writes them again, as the ledgers of the sinks and the record have them:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

The state of a query with state may have been computed from the changed entry. If the batch is not
committed, [reset the stream](../../guides/reset.md):

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Holdfast assumes that the sink holds what the checkpoint says now. Rows between the two ranges are
duplicated or lost.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ledger.coverage import Coverage
from holdfast.rules.commands import resuming, without_backup
from holdfast.rules.rule import Finding, Rule


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding != evidence.binding or sink.row.digest is None:
            continue
        if not isinstance(sink.held, Coverage) or sink.held.digest == sink.row.digest:
            continue
        batch = sink.row.last_batch
        yield RULE.find(
            what=(
                f"{sink.shown} holds batch {batch} of {evidence.stream} with other content "
                f"than offsets/{batch} describes: the entry or the source's log was changed "
                "after the batch was written. From here Spark would read some rows twice, or "
                "not at all."
            ),
            how=_how(case, batch),
            accepting="what the checkpoint says now is taken for what the sink holds",
            accepted_batch=max(batch, evidence.newest_committed),
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
        )


def _how(case: Case, batch: int) -> str:
    restored = f"Restore offsets/{batch} and sources/ as they were when the batch ran."
    again = resuming(case, otherwise="")
    return f"{restored} Without a backup: {again}" if again else f"{restored}{without_backup(case)}"


RULE = Rule(
    code="HF605",
    name="batch-content-changed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    judge=_judge,
)
