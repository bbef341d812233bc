"""Whether a batch function recognises a batch that it has written before.

By what it does, not by what it is called: a function `upsert` that appends does not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import msgspec

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
TXN_SETTING = "spark.databricks.delta.write.txnappid"
"""Names the application of every Delta write of a session, in lower case."""
_OPTIONS = frozenset({"txnappid", "replacewhere"})
_JOINS = frozenset({"left_anti", "leftanti", "anti"})
_FILTERS = re.compile(r"dedup|existing|unseen|only_new|new_only|already|anti_join", re.IGNORECASE)
_NAMED_LATER = re.compile(r"(?<![\w.{])\{[^}]*\}(?![\w.])")
"""A table whose whole name is not known."""
_DROPS = frozenset({"dropDuplicates", "drop_duplicates", "distinct"})


class Identity(msgspec.Struct, frozen=True):
    """What in a batch function recognises rows that were written before."""

    is_general: bool
    """Whether it may concern every write: a merge, an anti join, or what cannot be followed."""
    statements: tuple[str, ...]
    """Statements that recognise rows of the tables that they name."""

    def covers(self, table: str | None) -> bool:
        """Return whether rows of a table are recognised, or may be."""
        if self.is_general or (table is None and self.statements):
            return True
        return any(str(table) in statement.lower() for statement in self.statements)


def recognises(callees: Iterable[Callee]) -> bool:
    """Return whether anything in the functions recognises a batch, or cannot be followed."""
    return identity_of(callees).covers(None)


def identity_of(callees: Iterable[Callee]) -> Identity:
    """Return what in the functions recognises rows that were written before."""
    nodes = [
        (each, owner) for owner in callees for each in owner.values.syntax.nodes_in(owner.function)
    ]
    calls = [(each, owner) for each, owner in nodes if isinstance(each, ast.Call)]
    ran = [statement_of(call, owner.values) for call, owner in calls if _executes(call)]
    located = tuple(each.text for each in ran if each is not None and each.recognises)
    names = {name_of(call.func) for call, _ in calls}
    reads = any(isinstance(each, ast.Attribute) and each.attr == "read" for each, _ in nodes)
    is_general = (
        None in ran
        or any(_NAMED_LATER.search(each) for each in located)
        or any(_recognises(call, owner) for call, owner in calls)
        # The rows that are there are read, and taken out.
        or bool(names & _DROPS and (reads or "table" in names))
        or any(_says(each, owner.values.syntax, located) for each, owner in nodes)
    )
    return Identity(is_general, located)


def _executes(call: ast.Call) -> bool:
    return name_of(call.func) in EXECUTES and bool(call.args)


def _recognises(call: ast.Call, owner: Callee) -> bool:
    name = name_of(call.func)
    is_method = name in _METHODS and isinstance(call.func, ast.Attribute)
    if not is_method and not _FILTERS.search(name):
        return False
    return find_callee(call.func, owner.values) is None


def _says(node: ast.AST, syntax: Syntax, located: tuple[str, ...]) -> bool:
    """Return whether a text is an option, a kind of join or a statement that recognises rows.

    Not a statement that is run here: its tables are known.
    """
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    if any(node.value in statement for statement in located):
        return False
    text = node.value.strip().lower()
    if text not in _OPTIONS | _JOINS and not RECOGNISES.search(text):
        return False
    parents = syntax.chain_of_parents(node)
    is_docstring = bool(parents) and isinstance(parents[0], ast.Expr)
    is_logged = any(isinstance(each, ast.Call) and name_of(each.func) in LOGS for each in parents)
    return not is_docstring and not is_logged
