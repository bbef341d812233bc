"""HF716: the Delta table lacks batches that the checkpoint has committed.

## What it finds

Spark's own Delta sink writes every batch into the table, empty ones too, before Spark commits it.
The table's newest batch is older than the checkpoint's. An old copy of the table was put back, or
commits were deleted from its log.

## What Spark does

Spark continues after the newest committed batch. The batches between are not written again.

## What to do

Restore the newest copy of the table. If it is gone, rewind the checkpoint to the batch that the
table has.

## What accepting does

The rows of the named batches stay missing.

## What it cannot see

How many rows the missing batches had.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import delta_holdings, span
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for holding in delta_holdings(case):
        held = holding.batch
        if not holding.is_native or held is None or held >= committed:
            continue
        gone = span(held + 1, committed)
        yield RULE.find(
            what=(
                f"{holding.output.shown} ends with batch {held} of this query, but the checkpoint "
                f"has committed batch {committed}. Spark continues after it: the rows of {gone} "
                "are missing and are not written again."
            ),
            how=(
                "Restore the newest copy of the table. If it is gone, rewind the checkpoint to "
                f"batch {held}."
            ),
            accepting=f"the rows of {gone} stay missing",
            follows_from=(
                f"commits/{committed}",
                *holding.files(*(each.version for each in (holding.newest_commit,) if each)),
            ),
        )


RULE = Rule(
    code="HF716",
    name="delta-behind-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.OUTPUT,
    judge=_judge,
)
