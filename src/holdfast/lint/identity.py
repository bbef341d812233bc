"""Whether a batch function recognises a batch that it has written before.

By what it does, not by what it is called: a function `upsert` that appends does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from holdfast.lint.batch_ids import LOGS
from holdfast.lint.callables import Callee, find_callee
from holdfast.lint.sql import EXECUTES, RECOGNISES, statement_of
from holdfast.lint.syntax import Syntax
from holdfast.lint.volatile import name_of

_METHODS = frozenset(
    {
        *("merge", "mergeInto", "delete", "subtract", "exceptAll", "upsert", "bulk_write"),
        *("whenNotMatchedInsertAll", "whenNotMatchedInsert", "on_conflict_do_nothing"),
        *("on_conflict_do_update", "update_one", "replace_one", "overwritePartitions"),
    }
)
_OPTIONS = frozenset({"txnappid", "replacewhere"})
_JOINS = frozenset({"left_anti", "leftanti", "anti"})
_FILTERS = re.compile(r"dedup|existing|unseen|only_new|new_only|already|anti_join", re.IGNORECASE)
_DROPS = frozenset({"dropDuplicates", "drop_duplicates", "distinct"})


def recognises(callees: Iterable[Callee]) -> bool:
    """Return whether anything in the functions recognises a batch, or cannot be followed."""
    nodes = [
        (each, owner) for owner in callees for each in owner.values.syntax.nodes_in(owner.function)
    ]
    calls = [(each, owner) for each, owner in nodes if isinstance(each, ast.Call)]
    if any(_recognises(call, owner) for call, owner in calls):
        return True
    names = {name_of(call.func) for call, _ in calls}
    reads = any(isinstance(each, ast.Attribute) and each.attr == "read" for each, _ in nodes)
    if names & _DROPS and (reads or "table" in names):
        return True  # the rows that are there are read, and taken out
    return any(_says(each, owner.values.syntax) for each, owner in nodes)


def _recognises(call: ast.Call, owner: Callee) -> bool:
    name = name_of(call.func)
    if name in EXECUTES and call.args:
        statement = statement_of(call, owner.values)
        return statement is None or statement.recognises
    is_known = find_callee(call.func, owner.values) is not None
    if name in _METHODS and isinstance(call.func, ast.Attribute):
        return not is_known
    return bool(_FILTERS.search(name)) and not is_known


def _says(node: ast.AST, syntax: Syntax) -> bool:
    """Return whether a text is a statement, an option or a kind of join that recognises rows."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    text = node.value.strip().lower()
    if text not in _OPTIONS | _JOINS and not RECOGNISES.search(text):
        return False
    parents = syntax.chain_of_parents(node)
    is_docstring = bool(parents) and isinstance(parents[0], ast.Expr)
    is_logged = any(isinstance(each, ast.Call) and name_of(each.func) in LOGS for each in parents)
    return not is_docstring and not is_logged
