"""HF814: a Delta writer has a fixed txnAppId."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.callables import Callee
from holdfast.lint.identity import TXN_SETTING
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule
from holdfast.lint.volatile import name_of


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        for write in batch.writes:
            given = write.options.get("txnappid")
            if given and (fixed := given.value.fixed):
                yield _found(fixed, given.at)
        for owner in batch.callees:
            for node in owner.values.syntax.nodes_in(owner.function):
                if isinstance(node, ast.Call) and (fixed := _set_in_session(node, owner)):
                    yield _found(fixed, (node.lineno, node.col_offset + 1))


def _found(fixed: str, at: tuple[int, int]) -> LintFinding:
    return RULE.find(
        f"txnAppId is always {fixed}. After a reset of the checkpoint, Delta skips every batch up "
        "to the last one of before.",
        at,
    )


def _set_in_session(call: ast.Call, owner: Callee) -> str | None:
    """Return the fixed id that `spark.conf.set` gives to all writers of the session."""
    if name_of(call.func) != "set" or len(call.args) != 2:
        return None
    key, value = (owner.values.read(each) for each in call.args)
    return value.fixed if (key.known or "").lower() == TXN_SETTING else None


RULE = LintRule(
    code="HF814",
    name="fixed-txn-app-id",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
