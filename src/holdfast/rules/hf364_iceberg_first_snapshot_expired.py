"""HF364: the Iceberg table no longer has the snapshot that the stream began with.

## What it finds

`sources/<i>/offsets/0` says with which snapshot the first run began. The table does not have it any
more. The snapshot in the newest offset is still there.

## What Spark does

With the trigger AvailableNow, Iceberg looks up the first snapshot at every start. Spark fails with
`Cannot load current offset at snapshot …, the snapshot was expired or removed`, although nothing
that is still to be read is missing. Other triggers do not look it up.

## What to do

Run the query with a processing-time trigger and stop it when it has caught up. Or keep the first
snapshot with a tag, before it expires: `ALTER TABLE … CREATE TAG … AS OF VERSION …`.

## What it cannot see

The trigger of the query: the checkpoint does not say it.

## Where this comes from

- Iceberg 1.11.0, `the snapshot was expired or removed` in
  [SyncSparkMicroBatchPlanner.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SyncSparkMicroBatchPlanner.java)
- Iceberg 1.11.0, `InitialOffsetStore` in
  [SparkMicroBatchStream.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkMicroBatchStream.java)
- Measured, in the repository, by
  `python -m campaigns.situations iceberg-first-snapshot-expired`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.sources.iceberg import BEFORE_THE_FIRST, IcebergOffset
from holdfast.evidence.case import Case
from holdfast.evidence.sources.iceberg import IcebergSource
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    began = {log.name: log.began for log in case.checkpoint.sources}
    for each in case.sources:
        found, first = each.found, began.get(each.source)
        if not isinstance(found, IcebergSource) or not isinstance(first, IcebergOffset):
            continue
        is_there = first.snapshot_id == BEFORE_THE_FIRST or first.snapshot_id in found.held
        if is_there or not found.is_held:
            continue
        yield RULE.find(
            what=(
                f"{found.shown} does not have snapshot {first.snapshot_id} any more, with which "
                f"source {each.source} began. With the trigger AvailableNow, Spark fails at every "
                f"start, although snapshot {found.needed}, which it has read up to, is there."
            ),
            how="Run the query with a processing-time trigger until it has caught up.",
            follows_from=(f"sources/{each.source}/offsets/0", found.metadata),
        )


RULE = Rule(
    code="HF364",
    name="iceberg-first-snapshot-expired",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
