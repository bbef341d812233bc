"""HF705: an overwrite or a TRUNCATE removed batches that the checkpoint will not write again.

## What it finds

Another writer replaced everything in the Delta table after this query wrote into it: an overwrite,
a TRUNCATE, a DELETE without a condition, or CREATE OR REPLACE. It is *likely*: it holds unless that
writer put the rows of the removed batches back.

## What Spark does

Spark continues with the next batch. The rows of the earlier batches are not written again.

## What to do

If the table was emptied by mistake, RESTORE it to the version before. If this query is to fill it
again, [reset the stream](../../guides/reset.md). The plan for a guarded stream:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

For a query without Holdfast, start with a new checkpoint, which reads the source from its
beginning.

## What it cannot see

Whether the overwrite itself wrote the rows that it removed.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-sink-truncated`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import OutputCommit
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import resetting
from holdfast.rules.delta_batches import Holding, at, delta_holdings
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for holding in delta_holdings(case):
        emptied = next(
            (
                each
                for each in holding.output.commits
                if _replaces(each) and holding.application not in each.transactions
            ),
            None,
        )
        if emptied is None or holding.application is None:
            continue
        before = [
            commit.transactions[holding.application]
            for commit in holding.output.commits
            if commit.version < emptied.version
            and holding.application in commit.transactions
            and commit.output_mode != "Complete"
        ]
        if not before or _is_restored(holding, emptied.version):
            continue
        yield RULE.find(
            what=(
                f"{printable(emptied.operation)} at {at(emptied.written_ms)} replaced the content "
                f"of {holding.output.shown}, with batch {max(before)} of this query and all before "
                "it. Spark continues after them and does not write them again."
            ),
            how=(
                f"Restore the table to version {emptied.version - 1}. If it is to be filled "
                f"again, {resetting(case)}."
            ),
            follows_from=(*holding.files(emptied.version), f"offsets/{case.newest_planned}"),
        )


def _replaces(commit: OutputCommit) -> bool:
    """Return whether nothing that was there before is sure to be there still."""
    is_restore = commit.operation == "RESTORE" and commit.restores is None  # to a timestamp
    return commit.replaces_all or is_restore


def _is_restored(holding: Holding, version: int) -> bool:
    """Return whether a later RESTORE took the table back to before a version."""
    return any(
        each.version > version and each.restores is not None and each.restores < version
        for each in holding.output.commits
    )


RULE = Rule(
    code="HF705",
    name="delta-sink-emptied",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.OUTPUT,
    judge=_judge,
)
