"""What a function does with the id of a batch: nothing, only store it, or recognise a batch by it.

A use that cannot be followed counts as recognising.
"""

from __future__ import annotations

import ast
from enum import IntEnum

from holdfast.lint.callables import Callee, find_callee
from holdfast.lint.sql import EXECUTES, statement_of
from holdfast.lint.syntax import Function
from holdfast.lint.volatile import name_of

LOGS = frozenset({"print", "debug", "info", "warning", "warn", "error", "exception", "log"})
_NAMES_ONLY = LOGS | {
    *("setJobDescription", "setJobGroup", "createOrReplaceTempView", "createTempView"),
    *("createOrReplaceGlobalTempView", "critical", "set_tag", "setLocalProperty"),
}
_PASSES = frozenset(
    {"lit", "str", "int", "repr", "format", "expr", "cast", "alias", "Row", "dict"}
) | {
    *("list", "tuple"),
}
_STORES = frozenset(
    {
        *("withColumn", "withColumns", "select", "selectExpr", "createDataFrame", "withMetadata"),
        *("agg", "struct", "to_json", "typedLit", "insert_one"),
    }
)
_SAVES = frozenset({"save", "parquet", "json", "csv", "orc", "saveAsTable"})
_EXPRESSIONS = (
    *(ast.FormattedValue, ast.JoinedStr, ast.BinOp, ast.keyword, ast.Tuple, ast.List, ast.Dict),
    *(ast.Starred, ast.Attribute, ast.IfExp, ast.ListComp, ast.GeneratorExp, ast.Set),
)


class BatchIdUse(IntEnum):
    """What a batch id is used for, from nothing to what makes a repeated batch harmless."""

    NOT_USED = 0
    """Not at all, or only in a log, a comparison with a constant or the name of a view."""
    STORED = 1
    """In a column, a row or a path that is appended to. A repeated batch is stored again."""
    RECOGNISES = 2
    """To delete, merge or skip, or for something that cannot be followed."""


def use_of(
    owner: Callee, name: str, seen: frozenset[tuple[Function, str]] = frozenset()
) -> BatchIdUse:
    """Return the strongest use of a parameter or a variable of a function."""
    if (owner.function, name) in seen or not name:
        return BatchIdUse.NOT_USED
    seen |= {(owner.function, name)}
    uses = (
        _one_use(each, owner, seen)
        for each in owner.values.syntax.nodes_in(owner.function)
        if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
    )
    return max(uses, default=BatchIdUse.NOT_USED)


def _one_use(node: ast.AST, owner: Callee, seen: frozenset[tuple[Function, str]]) -> BatchIdUse:
    """Return what becomes of a value where it is used: climb to what takes it."""
    parents = owner.values.syntax.parents
    child, parent = node, parents.get(node)
    while parent is not None:
        match parent:
            case ast.Call():
                if name_of(parent.func) not in _PASSES:
                    return _given(child, parent, owner, seen=seen)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return use_of(owner, name, seen)
            case _:
                if not isinstance(parent, _EXPRESSIONS):
                    return _end_of(parent, child)
        child, parent = parent, parents.get(parent)
    return BatchIdUse.RECOGNISES


def _end_of(parent: ast.AST, child: ast.AST) -> BatchIdUse:
    """Return what a statement or a comparison does with a value in it."""
    match parent:
        case ast.Assign(targets=[ast.Subscript()]):
            return BatchIdUse.STORED  # a column of a pandas DataFrame, or an entry of a row
        case ast.Compare(left=left, comparators=others):
            sides = [each for each in (left, *others) if each is not child]
            only_constants = all(isinstance(each, ast.Constant) for each in sides)
            return BatchIdUse.NOT_USED if only_constants else BatchIdUse.RECOGNISES
        case ast.Expr():
            return BatchIdUse.NOT_USED
        case _:
            return BatchIdUse.RECOGNISES


def _given(
    child: ast.AST, call: ast.Call, owner: Callee, *, seen: frozenset[tuple[Function, str]]
) -> BatchIdUse:
    """Return what a call does with a value that it gets."""
    name = name_of(call.func)
    if name in _NAMES_ONLY:
        return BatchIdUse.NOT_USED
    if name in EXECUTES:
        return _executed(call, owner)
    if name in _STORES or (name in _SAVES and _appends(call)) or _is_noted(call):
        return BatchIdUse.STORED
    callee = find_callee(call.func, owner.values)
    value = child.value if isinstance(child, ast.keyword) else child
    if callee is None or not isinstance(value, ast.expr):
        return BatchIdUse.RECOGNISES
    parameter = callee.parameter_of(call, value)
    return BatchIdUse.RECOGNISES if parameter is None else use_of(callee, parameter, seen)


def _executed(call: ast.Call, owner: Callee) -> BatchIdUse:
    statement = statement_of(call, owner.values)
    is_insert = statement is not None and statement.inserts and not statement.recognises
    return BatchIdUse.STORED if is_insert else BatchIdUse.RECOGNISES


def _appends(call: ast.Call) -> bool:
    """Return whether a write says `append`, so that a path with the id in it is written twice."""
    modes = [each.value for each in call.keywords if each.arg == "mode"]
    for each in ast.walk(call.func):
        if isinstance(each, ast.Call) and name_of(each.func) == "mode":
            modes += each.args
    return any(isinstance(each, ast.Constant) and each.value == "append" for each in modes)


def _is_noted(call: ast.Call) -> bool:
    """Return whether it is an option that only describes the commit."""
    first = call.args[0] if call.args else None
    is_option = name_of(call.func) == "option" and isinstance(first, ast.Constant)
    return is_option and str(getattr(first, "value", "")).lower() == "usermetadata"
