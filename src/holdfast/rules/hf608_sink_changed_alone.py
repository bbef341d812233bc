"""HF608: the sink was changed, and its ledger was not.

## What it finds

The ledger says what the table holds, but the table was emptied, dropped, replaced or restored
without its ledger.

In PostgreSQL the rule compares the table's oid and storage with those in the ledger row. If they
differ, it counts the rows, and it looks for rows that the table had before: the ledger row keeps
hashes of up to eight of them. A table that was only rewritten, for example by `VACUUM FULL`, still
has at least as many rows as the stream has added, and some of those that are remembered; it passes.
A table that was truncated and filled by another writer is refused. A table that is empty although
the stream has added rows is refused too. Rows of tables that inherit from it do not count, because
batches do not go there. For Delta, Holdfast [reads the table's
log](../../guides/delta.md#what-is-checked-at-a-start). [When the table
changes](../target-changes.md) lists every case.

## What Spark does

Spark would continue after the newest committed batch. What was removed from the table would never
be written again.

## What to do

Restore table and ledger together from one backup. If there is none, [reset the
stream](../../guides/reset.md) to fill the table again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Missing rows stay missing, duplicate rows stay, and the stream continues. The ledger row then names
the table as it is now.

## What it cannot see

Holdfast does not notice rows that other programs insert, change or delete one by one. If all rows
that are remembered were changed or deleted and the table was rewritten afterwards, the start is
refused although nothing of the stream is missing.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.target_changes`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    for sink in evidence.sinks:
        if sink.row is None or sink.contradicts is None:
            continue
        yield RULE.find(
            what=(
                f"The ledger says that {sink.shown} holds {evidence.stream} up to batch "
                f"{sink.row.last_batch}, but {sink.contradicts}. The table was changed without "
                "its ledger, and Spark would not run those batches again."
            ),
            how=f"Restore table and ledger together. To fill the table again, {resetting(case)}.",
            accepting="missing rows stay missing, duplicate rows stay, and the stream goes on",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"batch {sink.row.last_batch} in the ledger",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF608",
    name="sink-changed-alone",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    judge=_judge,
)
