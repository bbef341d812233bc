"""HF805: the code deletes a checkpoint before it starts the query."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import CheckpointFault, LintFinding, LintRule
from holdfast.lint.values import Values

_DELETES = {"shutil.rmtree", "rmtree", "dbutils.fs.rm", "mssparkutils.fs.rm", "notebookutils.fs.rm"}


def _judge(program: Program) -> Iterator[LintFinding]:
    values = Values(program.syntax)
    for call in program.syntax.calls:
        if not call.args or ast.unparse(call.func) not in _DELETES:
            continue
        deleted = values.read(call.args[0])
        for query in program.queries:
            checkpoint = query.checkpoint
            started = query.site or query.started
            scopes = {program.syntax.scope_of(each) for each in (call, started)}
            if checkpoint is None or len(scopes) > 1 or call.lineno > started.lineno:
                continue
            if checkpoint.value.is_same(deleted) and _always(program, call, started):
                yield RULE.find(
                    "The checkpoint is deleted before every start: the query continues from no "
                    "earlier run, and its sink keeps what it has.",
                    (call.lineno, call.col_offset + 1),
                )
                break


def _always(program: Program, call: ast.Call, started: ast.Call) -> bool:
    """Return whether a start never happens without the call: no condition is around it alone."""
    around = set(program.syntax.branches_of(started))
    own = (node for node in program.syntax.branches_of(call) if node not in around)
    return all(isinstance(node, ast.Try) and where == "body" for node, where in own)


RULE = LintRule(
    code="HF805",
    name="checkpoint-deleted",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
    fault=CheckpointFault.DELETED,
    change="Do not delete the checkpoint: to begin again, use `holdfast plan reset`.",
)
