"""HF743: the Iceberg table has no batch of this query, although the checkpoint has committed some.

## What it finds

The checkpoint has committed batches, and no snapshot of the table names the query. Older snapshots
were not expired. Either the table is another one than before (dropped and created again, or the
stream was pointed at a new table), or the stream does not write with Iceberg's own sink.

## What Spark does

Spark goes on after its newest commit. A new table lacks everything before that. If the stream
writes with `foreachBatch`, a batch that runs again is appended again, because nothing in the table
tells which batches it holds.

## What to do

Check that `--sink` names the table that the stream writes. If the table was created again, copy the
earlier rows from a backup, or reset the stream so that it reads its source from the beginning.

## What it cannot see

Whether the stream writes with Iceberg's own sink or with `foreachBatch`.

## Where this comes from

- Iceberg 1.11.0, `findLastCommittedEpochId` in
  [SparkWrite.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkWrite.java)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.iceberg_outputs import find_written
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for output, writer in find_written(case):
        if writer is not None or committed < 0 or output.is_cut:
            continue
        yield RULE.find(
            what=(
                f"The checkpoint has committed batches up to {committed}, and none of the "
                f"{output.snapshots} snapshots of {output.shown} names this query. If Iceberg's "
                "own sink writes the table, it is a new table without the earlier batches."
            ),
            how="Check which table the stream writes, and whether it was created again.",
            follows_from=(f"commits/{committed}", output.metadata),
        )


RULE = Rule(
    code="HF743",
    name="iceberg-writer-unknown",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
