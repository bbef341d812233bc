"""HF361: the Iceberg table no longer has the snapshot that the checkpoint has read up to.

## What it finds

The newest offset of the source names a snapshot that the table does not have. `expire_snapshots`
removed it, or the table was dropped and created again.

## What Spark does

Iceberg looks the snapshot up before it reads on. Spark fails at every start, with `Cannot load
current offset at snapshot …, the snapshot was expired or removed` or `Cannot find snapshot after …:
not an ancestor of table's current snapshot`.

## What to do

Set `stream-from-timestamp` to the commit time of the next snapshot that the table still has. Then
begin a new generation of the stream, which keeps the rows in the sink:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output keep-from-here -o plan.json
```

Load the records of the expired snapshots with a bounded job. From then on, expire snapshots only
after every stream has read them.

## What accepting does

Spark fails at the start. No data changes.

## Where this comes from

- Iceberg 1.11.0, `the snapshot was expired or removed` in
  [SyncSparkMicroBatchPlanner.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SyncSparkMicroBatchPlanner.java)
- Iceberg 1.11.0, `not an ancestor of table's current snapshot` in
  [SnapshotUtil.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/core/src/main/java/org/apache/iceberg/util/SnapshotUtil.java)
- Measured, in the repository, by `python -m campaigns.situations iceberg-snapshot-expired`
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
        if not isinstance(found, IcebergSource) or found.is_held or newest < 0:
            continue
        yield RULE.find(
            what=(
                f"Source {each.source} has read {found.shown} up to snapshot {found.needed}, which "
                "the table does not have any more. Spark fails at every start."
            ),
            how=(
                "Set stream-from-timestamp to the next snapshot that the table has, then "
                f"{resetting(case, output=KEEP)}. Load what was expired with a bounded job."
            ),
            accepting="Spark fails at the start, and no data changes",
            follows_from=(f"offsets/{newest}", found.metadata),
        )


RULE = Rule(
    code="HF361",
    name="iceberg-snapshot-expired",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
