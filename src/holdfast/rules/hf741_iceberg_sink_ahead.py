"""HF741: the Iceberg table holds batches of the query that the checkpoint has not planned.

## What it finds

The summaries of the table's snapshots name batches of this query that have no offset entry. Entries
were deleted, an old copy of the checkpoint was restored, or a copy of the checkpoint ran elsewhere
into the same table.

## What Spark does

Spark plans the next batches anew, with other ranges. Iceberg's sink skips each batch whose number
is not above the newest one of the query. Spark commits it. The rows that the skipped batches would
have brought beyond the old ones never reach the table. Nothing is logged above INFO.

## What to do

Restore the newest copy of the checkpoint, complete with `sources/` and `state/`. Never delete
offset entries to get past an error. If the batches have been skipped already, load their range with
a bounded job.

## What accepting does

Spark skips the new batches up to the newest one in the table. Rows that only they contain are lost.

## Where this comes from

- Iceberg 1.11.0, `findLastCommittedEpochId` in
  [SparkWrite.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkWrite.java)
- Measured, in the repository, by `python -m campaigns.situations iceberg-offset-deleted`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.iceberg_outputs import find_written
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    for output, writer in find_written(case):
        if writer is None or writer.newest <= planned:
            continue
        first, last = planned + 1, writer.newest
        batches = f"batch {first}" if first == last else f"batches {first} to {last}"
        yield RULE.find(
            what=(
                f"{output.shown} holds batches of this query up to {last}, and the newest entry of "
                f"the checkpoint is {planned}. Spark plans {batches} again with other ranges, and "
                "Iceberg's sink skips what it gets for them without an error."
            ),
            how="Restore the newest copy of the checkpoint, complete with sources/ and state/.",
            accepting=f"Spark skips {batches}, and rows that only the new ranges contain are lost",
            follows_from=(f"offsets/{planned}", output.metadata),
        )


RULE = Rule(
    code="HF741",
    name="iceberg-sink-ahead",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
