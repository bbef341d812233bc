"""HF814: a Delta writer has a fixed txnAppId.

## What it finds

A Delta writer in `foreachBatch` has a `txnAppId` that is a fixed text: written there, in a
variable, as the default of a parameter that the file never gives, as a constant of another module
below the same directory, or as one of the texts that a loop goes through.

## What Spark does

Delta skips a batch whose number it has seen for this id. After a reset of the checkpoint, batch
numbers start at 0, so Delta skips every batch up to the last one of before, without an error.

## What to do

Put something into the id that changes with the checkpoint, such as the query's id, or change the id
with every reset.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        for write in batch.writes:
            given = write.options.get("txnappid")
            if given and (fixed := given.value.fixed):
                yield RULE.find(
                    f"txnAppId is always {fixed}. After a reset of the checkpoint, "
                    "Delta skips every batch up to the last one of before.",
                    given.at,
                )


RULE = LintRule(
    code="HF814",
    name="fixed-txn-app-id",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
