"""HF701: the sink holds the batch that Spark would plan anew, and skips it.

## What it finds

The Delta table holds the batch that Spark plans next. The batch reached the table, its commit entry
was never written, and then the offset entry was deleted. Spark's own error messages suggest
deleting offset files.

## What Spark does

Spark plans the batch again under the same number, with everything that arrived since. Delta
compares only the numbers: it skips the complete batch and logs one INFO line. Spark commits the
batch. The rows that are new in it are lost.

## What to do

Restore the deleted offset entry from a backup. Spark then runs exactly the old batch, the table
skips it correctly, and the next batch brings the new rows. Without a backup, run the query once
with a new query id in `metadata` after you removed the batch from the table.

## What accepting does

Everything that arrived since the old batch is lost, without an error.

## What it cannot see

How many rows arrive before the start: only those that the old batch did not have are lost.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Delta 4.4.0, `Transaction Identifiers` in
  [PROTOCOL.md](https://github.com/delta-io/delta/blob/v4.4.0/PROTOCOL.md)
- Measured, in the repository, by `python -m campaigns.situations delta-offset-deleted`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import at, delta_holdings, is_forgotten
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if not isinstance(case.next_start, Resumes):
        return
    batch = case.next_start.batch_id
    for holding in delta_holdings(case):
        commit = holding.newest_commit
        if not holding.is_native or holding.batch != batch:
            continue
        if is_forgotten(case, holding.output, commit):
            continue
        when = "" if commit is None else f" since {at(commit.written_ms)}"
        yield RULE.find(
            what=(
                f"{holding.output.shown} has batch {batch} of this query{when}, but the checkpoint "
                f"ends with batch {batch - 1}. Spark plans batch {batch} again with a larger "
                "range; Delta skips it by its number, and the rows that are new in it are lost."
            ),
            how=(
                f"Restore offsets/{batch} from a backup before you start the query: then Spark "
                "runs the same batch, and the table skips exactly that."
            ),
            accepting="everything that arrived since that batch is lost, without an error",
            follows_from=(
                *case.next_start.follows_from,
                *(() if commit is None else holding.files(commit.version)),
                "metadata",
            ),
        )


RULE = Rule(
    code="HF701",
    name="recreated-batch-skipped",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
