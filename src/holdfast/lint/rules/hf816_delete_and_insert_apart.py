"""HF816: foreachBatch deletes and inserts rows of one table in two transactions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from holdfast.grades import Confidence, Severity
from holdfast.lint.batch_functions import BatchFunction, Write
from holdfast.lint.callables import Callee
from holdfast.lint.chains import read_chain
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule
from holdfast.lint.sql import EXECUTES, statement_of, table_of
from holdfast.lint.syntax import Syntax
from holdfast.lint.volatile import name_of

_CONNECTS = {"connect", "begin", "transaction", "getconn", "connection", "get_connection"}


class _Delete(msgspec.Struct, frozen=True):
    call: ast.Call
    table: str
    by_spark: bool


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        deletes = list(_deletes(batch))
        for write in batch.writes if deletes else ():
            if write.mode != "append" or write.table is None:
                continue
            same = [each for each in deletes if each.table == write.table]
            apart = next((each for each in same if _is_apart(program.syntax, each, write)), None)
            if apart is not None:
                yield RULE.find(
                    f"The delete at line {apart.call.lineno} and this append are two transactions: "
                    "a stop between them leaves a gap, and two drivers can append twice. Use one "
                    "transaction, a MERGE or replaceWhere.",
                    write.at,
                )


def _deletes(batch: BatchFunction) -> Iterator[_Delete]:
    for owner in batch.callees:
        inside = owner.values.syntax.nodes_in(owner.function)
        for call in (each for each in inside if isinstance(each, ast.Call)):
            name = name_of(call.func)
            if name in EXECUTES and (statement := statement_of(call, owner.values)):
                if statement.deletes and statement.table:
                    yield _Delete(call, statement.table, name == "sql")
            elif name == "delete" and (table := _delta_table(call, owner)):
                yield _Delete(call, table, by_spark=True)


def _delta_table(call: ast.Call, owner: Callee) -> str | None:
    """Return the table of `DeltaTable.forPath(spark, …).delete(…)`."""
    steps = read_chain(call, owner.values).steps
    opened = next((each for each in steps if each.name in {"forPath", "forName"}), None)
    return None if opened is None else table_of(opened.text(1, "path", "tableOrViewName"))


def _is_apart(syntax: Syntax, delete: _Delete, write: Write) -> bool:
    if delete.by_spark or write.format != "sql" or name_of(write.call.func) == "sql":
        return True
    first, last = sorted((delete.call.lineno, write.at[0]))
    calls = (each for each in syntax.calls if name_of(each.func) == "commit")
    if any(first <= each.lineno < last for each in calls) or _commits_itself(syntax, delete.call):
        return True
    opened = [_opened_in(syntax, each) for each in (delete.call, write.call)]
    return None not in opened and opened[0] is not opened[1]


def _commits_itself(syntax: Syntax, call: ast.Call) -> bool:
    """Return whether the function sets `autocommit`, so that every statement is a transaction."""
    for node in ast.walk(syntax.scope_of(call)):
        match node:
            case ast.keyword(arg="autocommit", value=ast.Constant(value=True)):
                return True
            case ast.Assign(targets=[ast.Attribute(attr="autocommit")]):
                return bool(getattr(node.value, "value", False))
            case _:
                pass
    return False


def _opened_in(syntax: Syntax, node: ast.AST) -> ast.AST | None:
    """Return the outermost block around a call that opens a connection or a transaction."""
    blocks = [each for each in syntax.chain_of_parents(node) if isinstance(each, ast.With)]
    opening = (each for each in reversed(blocks) if any(map(_opens, each.items)))
    return next(opening, None)


def _opens(item: ast.withitem) -> bool:
    opened = item.context_expr
    return isinstance(opened, ast.Call) and name_of(opened.func) in _CONNECTS


RULE = LintRule(
    code="HF816",
    name="delete-and-insert-apart",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
