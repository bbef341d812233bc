"""HF403: the query reads the same sources in another order.

## What it finds

The query has the sources of its last run, in another order: the sides of a union or a join were
swapped. The checkpoint binds what was read to the position of a source. Sources are told apart by
their names, and by options that say what is read: `pathGlobFilter`, `recursiveFileLookup`,
`basePath`, `kafka.bootstrap.servers`, `readChangeFeed`, the position to start from, the format and
the columns.

## What Spark does

Spark takes what it has read of one source as the position in the other. File sources: Spark fails
with `Wrong basePath`, because the files of the newest batch are in the other directory. If that
batch has no files, as the last batch of a query with a watermark, Spark starts and reads both
directories again. If both sources read one directory and differ in an option alone, such as
`pathGlobFilter`, Spark starts too, and reads every file again.

Kafka: Spark fails because the partitions of the other topic are gone; with `failOnDataLoss=false`
it reads both topics from their beginning. Delta: Spark fails because the table id is another one.

## What to do

Restore the order of the sources in the code.

## What accepting does

Spark decides. If it starts, it reads the sources again from their beginning, and those rows are
duplicated. The ledger does not change.

## What it cannot see

Sources with the same name and the same options. Contracts of older versions of Holdfast do not have
the format and the columns of a source, so these are not compared with them.

## Where this comes from

- Spark 4.2.0, `toStreamProgress` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Spark 4.2.0, `Wrong basePath` in
  [PartitioningAwareFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/datasources/PartitioningAwareFileIndex.scala)
- Measured, in the repository, by `python -m campaigns.situations sources-swapped`
- Measured, in the repository, by `tests/spark/test_changed_source.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.rule import Finding, Needs, Rule
from holdfast.rules.source_identity import find_swapped


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None:
        return
    swapped = find_swapped(*found)
    if not swapped:
        return
    shown = ", ".join(f"source {number} was {old} and is {new}" for number, old, new in swapped)
    yield RULE.find(
        what=(
            f"The sources are in another order: {shown}. The checkpoint counts by position. "
            "Spark fails at the start, or reads these sources again from their beginning."
        ),
        how="Restore the order of the sources in the code.",
        accepting=(
            "Spark decides; if it starts, it reads the sources again from their beginning, and "
            "those rows are duplicated"
        ),
        follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
    )


RULE = Rule(
    code="HF403",
    name="sources-swapped",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.QUERY,
    judge=_judge,
)
