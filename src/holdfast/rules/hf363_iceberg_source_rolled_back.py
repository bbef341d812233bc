"""HF363: the Iceberg table was rolled back behind the snapshot that the checkpoint has read.

## What it finds

The table still has the snapshot in the newest offset, but it is not in the history of the current
snapshot any more. `rollback_to_snapshot` or `set_current_snapshot` moved `main` to another one.

## What Spark does

Iceberg searches the snapshot that follows the one in the offset, and finds none. Spark fails. With
Iceberg 1.12 the error is a `NullPointerException` (`Snapshot.parentId() is null`), which does not
name the cause. The sink keeps rows that the table does not have any more.

## What to do

If the rollback was a mistake, set the current snapshot back: `CALL
catalog.system.set_current_snapshot`. Otherwise remove the rows of the removed snapshots from the
sink, set `stream-from-timestamp`, and begin a new generation, which keeps the other rows:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output keep-from-here -o plan.json
```

## What accepting does

Spark fails at the start. No data changes.

## Where this comes from

- Iceberg 1.11.0, `not an ancestor of table's current snapshot` in
  [SnapshotUtil.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/core/src/main/java/org/apache/iceberg/util/SnapshotUtil.java)
- Measured, in the repository, by
  `python -m campaigns.situations iceberg-source-rolled-back`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.sources.iceberg import IcebergSource
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import KEEP, resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    newest = case.newest_planned
    for each in case.sources:
        found = each.found
        if not isinstance(found, IcebergSource) or not found.is_held or found.is_in_history:
            continue
        yield RULE.find(
            what=(
                f"Source {each.source} has read {found.shown} up to snapshot {found.needed}. The "
                "table was rolled back, and that snapshot is not in its history any more. Spark "
                "fails at every start."
            ),
            how=(
                "Undo the rollback. Or remove the rows of the removed snapshots from the sink, set "
                f"stream-from-timestamp, and {resetting(case, output=KEEP)}."
            ),
            accepting="Spark fails at the start, and no data changes",
            follows_from=(f"offsets/{newest}", found.metadata),
        )


RULE = Rule(
    code="HF363",
    name="iceberg-source-rolled-back",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
