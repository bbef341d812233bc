"""HF702: the Delta table holds later batches than the checkpoint: an old copy, or a clone.

## What it finds

The Delta table holds batches of this query id that the checkpoint has not planned. An older copy of
the checkpoint was restored, or another checkpoint with the same query id (a clone for a test, for
disaster recovery, for a blue-green deployment) wrote into the same table.

## What Spark does

Spark plans those batches again, with other ranges. Delta skips each of them by its number, until
the checkpoint has passed the table. Spark reports success. Rows that the table does not have yet
and that fall into a skipped batch are lost.

## What to do

Stop every other query that uses a copy of this checkpoint. Then restore the newest copy of the
checkpoint, complete with `sources/` and `state/`. If it is gone, start from this copy with a new
query id in `metadata`, after you removed the batches that the table holds too much.

## What accepting does

The named batches are skipped, and the rows that are new in them are lost.

## What it cannot see

Whether the rows of the skipped batches are the ones that the table has already.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Delta 4.4.0, `Transaction Identifiers` in
  [PROTOCOL.md](https://github.com/delta-io/delta/blob/v4.4.0/PROTOCOL.md)
- Measured, in the repository, by
  `python -m campaigns.situations delta-old-checkpoint delta-clone-ahead`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import delta_holdings, is_forgotten
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if not isinstance(case.next_start, Resumes | RunsAgain):
        return
    planned = case.newest_planned
    first = planned + 1
    for holding in delta_holdings(case):
        held = holding.batch
        if not holding.is_native or held is None or held <= planned:
            continue
        if held == first and isinstance(case.next_start, Resumes):
            continue  # one batch: its offset entry was deleted
        if is_forgotten(case, holding.output, holding.newest_commit):
            continue
        yield RULE.find(
            what=(
                f"{holding.output.shown} holds batch {held} of this query, but the newest entry "
                f"of the checkpoint is batch {planned}. Spark plans {batch_range(first, held)} "
                "anew, from what the source has then. Delta skips every batch number that it has, "
                "and the rows that are new in it are lost."
            ),
            how=(
                "Stop every query that runs on a copy of this checkpoint, then restore the newest "
                "copy of the checkpoint, complete with sources/ and state/."
            ),
            accepting=f"Delta skips {batch_range(first, held)}, with the new rows",
            follows_from=(
                f"offsets/{planned}",
                *holding.files(*(each.version for each in (holding.newest_commit,) if each)),
                "metadata",
            ),
        )


RULE = Rule(
    code="HF702",
    name="delta-ahead-of-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
