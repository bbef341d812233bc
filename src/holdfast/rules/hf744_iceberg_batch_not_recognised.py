"""HF744: a batch runs again, and the Iceberg snapshots that would recognise it were expired.

## What it finds

A batch was planned and not committed, so Spark runs it again. The table has no snapshot of this
query any more, because older snapshots were expired.

## What Spark does

Iceberg's sink recognises a batch by the summaries of the snapshots before the current one. Without
them it writes the batch. If the batch had reached the table before the crash, its rows are
duplicated.

## What to do

Find out whether the table holds the rows of the batch, by a column that tells where a row comes
from. If it does, delete them from the table before you start the stream.

## What it cannot see

Whether the batch had reached the table. If it had not, nothing is duplicated.

## Where this comes from

- Iceberg 1.11.0, `findLastCommittedEpochId` in
  [SparkWrite.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkWrite.java)
- Measured, in the repository, by `python -m campaigns.situations iceberg-evidence-expired`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.iceberg_outputs import find_written
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    if planned <= case.newest_committed:
        return
    for output, writer in find_written(case):
        if writer is not None or not output.is_cut:
            continue
        yield RULE.find(
            what=(
                f"Batch {planned} runs again, and {output.shown} has no snapshot of this query any "
                "more: they were expired. If the batch had reached the table, its rows are "
                "duplicated."
            ),
            how=f"Check whether the table holds the rows of batch {planned} before you start.",
            follows_from=(f"offsets/{planned}", output.metadata),
        )


RULE = Rule(
    code="HF744",
    name="iceberg-batch-not-recognised",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
