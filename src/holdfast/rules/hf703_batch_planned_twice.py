"""HF703: the checkpoint planned a batch that the table already had: its rows are skipped.

## What it finds

The Delta table took a batch of this query id before this checkpoint planned the batch with that
number. The commit is from an earlier plan: the offset entry was deleted and made again, an old copy
of the checkpoint was restored, or a clone with the same query id writes into the same table.

## What Spark does

Delta skips a batch whose number the table has. A committed batch was skipped already: its rows are
not in the table, and a restart does not bring them. A pending batch is skipped at the next start.

## What to do

Stop every other query with this query id. Then write the ranges of the named batches into the table
with a batch job, without the rows that the table has. The ranges are in `offsets/`.

## What accepting does

The rows of the named batches stay missing.

## What it cannot see

Which rows of a skipped batch the table got from the other plan. Clocks that were set back by more
than a second while a batch ran.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Delta 4.4.0, `Transaction Identifiers` in
  [PROTOCOL.md](https://github.com/delta-io/delta/blob/v4.4.0/PROTOCOL.md)
- Measured, in the repository, by `python -m campaigns.situations delta-clone-interleaved`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import OutputCommit
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import (
    Holding,
    at,
    delta_holdings,
    is_planned_later,
    listed,
    planned_ms,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for holding in delta_holdings(case):
        found = {
            batch: commit
            for batch in case.checkpoint.offsets
            if (commit := _commit_of(holding, batch)) and is_planned_later(case, batch, commit)
        }
        if not found:
            continue
        batches = sorted(found)
        first = found[batches[0]]
        yield RULE.find(
            what=(
                f"{holding.output.shown} took {listed(batches)} of this query id before this "
                f"checkpoint planned the batch: batch {batches[0]} at {at(first.written_ms)}, "
                f"planned at {at(planned_ms(case, batches[0]))}. Delta skips what this checkpoint "
                "planned, and a restart does not bring those rows."
            ),
            how=(
                "Stop every other query with this query id, then write the ranges of these batches "
                "with a batch job, without the rows that the table has."
            ),
            accepting="the rows of these batches stay missing",
            follows_from=(
                *(f"offsets/{batch}" for batch in batches[:5]),
                *holding.files(first.version),
            ),
        )


def _commit_of(holding: Holding, batch: int) -> OutputCommit | None:
    return holding.output.commit_of(holding.query_id, batch) if holding.is_native else None


RULE = Rule(
    code="HF703",
    name="batch-planned-twice",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.OUTPUT,
    judge=_judge,
)
