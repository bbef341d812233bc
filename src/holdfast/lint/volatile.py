"""Expressions that are different in every run: the time, random ids, new directories."""

from __future__ import annotations

import ast

_VOLATILE = {
    *("now", "utcnow", "today", "uuid4", "uuid1", "time", "time_ns", "mkdtemp", "mkstemp"),
    *("TemporaryDirectory", "NamedTemporaryFile", "token_hex", "token_urlsafe", "getpid"),
    *("randint", "random", "randrange", "choice", "choices", "urandom", "getrandbits"),
}
_VOLATILE_OWNERS = {
    *("datetime", "date", "dt", "uuid", "time", "tempfile", "secrets", "os", "random", "Timestamp"),
}
_VOLATILE_NAMES = {"uuid4", "uuid1", "mkdtemp", "TemporaryDirectory"}
_PASSES_ON = {
    *("strftime", "isoformat", "date", "timestamp", "ctime", "timetuple", "astimezone", "format"),
    *("replace", "lower", "upper", "strip", "split", "encode", "hexdigest", "joinpath"),
    *("str", "int", "round", "repr", "hash", "float"),
}


def volatile_of(node: ast.Call) -> str | None:
    """Return the expression in a call that is different in every run, such as `datetime.now()`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            owner = each.func.value if isinstance(each.func, ast.Attribute) else None
            name = name_of(each.func)
            is_owned = owner is not None and name_of(owner) in _VOLATILE_OWNERS
            if (name in _VOLATILE and is_owned) or (name in _VOLATILE_NAMES and owner is None):
                return f"{ast.unparse(each.func)}()"
            if ast.unparse(each.func) == "time.strftime" and len(each.args) == 1:
                return "time.strftime()"
    return None


def passed_on(node: ast.Call) -> ast.expr | None:
    """Return what a call makes its text from, such as `now` of `now.strftime("%Y")`."""
    if name_of(node.func) not in _PASSES_ON:
        return None
    if isinstance(node.func, ast.Attribute) and len(node.args) < 2:
        return node.func.value
    return node.args[0] if node.args else None


def name_of(node: ast.expr) -> str:
    """Return the last name of an expression; empty if it has none."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
