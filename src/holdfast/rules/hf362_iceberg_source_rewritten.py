"""HF362: the Iceberg table was overwritten or rows were deleted after the checkpoint's snapshot.

## What it finds

After the snapshot that the checkpoint has read up to, the table has snapshots of `overwrite` or
`delete`. A `MERGE`, an `UPDATE`, an `INSERT OVERWRITE` or a `DELETE` made them.

## What Spark does

Spark fails with `Cannot process overwrite snapshot …` or `Cannot process delete snapshot …`. With
`streaming-skip-overwrite-snapshots` or `streaming-skip-delete-snapshots`, it starts and skips the
complete snapshot. Rows that the snapshot added, such as those that a `MERGE` inserted, never reach
the sink. Spark says nothing of it.

## What to do

If the snapshots added no rows that you need, set the option that the error names, and start. If
they did, start with the option and load those rows with a bounded job from that snapshot.

## What it cannot see

Whether the query sets these options: the checkpoint does not say it.

## Where this comes from

- Iceberg 1.11.0, `Cannot process overwrite snapshot` in
  [BaseSparkMicroBatchPlanner.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/BaseSparkMicroBatchPlanner.java)
- Iceberg's documentation:
  [Spark Structured Streaming](https://iceberg.apache.org/docs/latest/spark-structured-streaming/)
- Measured, in the repository, by
  `python -m campaigns.situations iceberg-source-overwritten`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.sources.iceberg import IcebergSource
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_REWRITES = ("overwrite", "delete")


def _judge(case: Case) -> Iterator[Finding]:
    for each in case.sources:
        found = each.found
        if not isinstance(found, IcebergSource) or not found.is_in_history:
            continue
        rewrites = [change for change in found.after if change.operation in _REWRITES]
        if not rewrites:
            continue
        first = rewrites[0]
        added = sum(change.added or 0 for change in rewrites)
        yield RULE.find(
            what=(
                f"After snapshot {found.needed}, {found.shown} has {len(rewrites)} snapshots that "
                f"overwrite or delete; the first is {first.snapshot_id} ({first.operation}). Spark "
                "fails at it. With the option that skips such snapshots, Spark starts, and the "
                f"{added:,} records that they added never reach the sink."
            ),
            how=(
                f"Set streaming-skip-{first.operation}-snapshots. If you need what these snapshots "
                "added, load it with a bounded job."
            ),
            follows_from=(f"offsets/{case.newest_planned}", found.metadata),
        )


RULE = Rule(
    code="HF362",
    name="iceberg-source-rewritten",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
