"""HF814: a Delta writer has a fixed txnAppId."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.lint.program import Program
from holdfast.lint.rule import LintConfidence, LintFinding, LintRule, LintSeverity


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        for write in batch.writes:
            given = write.options.get("txnappid")
            if given and given.value.known:
                yield RULE.find(
                    f"txnAppId is always {given.value.known}. After a reset of the checkpoint, "
                    "Delta skips every batch up to the last one of before.",
                    given.at,
                )


RULE = LintRule(
    code="HF814",
    name="fixed-txn-app-id",
    severity=LintSeverity.DATA_AT_RISK,
    confidence=LintConfidence.LIKELY,
    judge=_judge,
)
