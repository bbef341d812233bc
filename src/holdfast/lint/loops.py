"""What the variable of a loop can be, where the loop is over something written in the code."""

from __future__ import annotations

import ast
from collections.abc import Callable

from holdfast.lint.syntax import Looped

Resolve = Callable[[ast.expr], ast.expr]


def elements_of(looped: Looped, resolve: Resolve) -> list[ast.expr]:
    """Return the expressions that a loop's variable stands for; none if that is not known."""
    rows = _rows(resolve(looped.loop.iter), resolve)
    found: list[ast.expr] = []
    for row in rows:
        element = _at(row, looped.path)
        if element is None:
            return []
        found.append(element)
    return found


def _rows(over: ast.expr, resolve: Resolve) -> list[ast.expr]:
    match over:
        case ast.Tuple(elts=rows) | ast.List(elts=rows) | ast.Set(elts=rows):
            return rows
        case ast.Dict():
            return _of_dict(over, "keys")
        case ast.Call(func=ast.Attribute(value=holder, attr=how), args=[]):
            held = resolve(holder)
            return _of_dict(held, how) if isinstance(held, ast.Dict) else []
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
            rows = _rows(resolve(inner), resolve)
            return [_pair(ast.Constant(number), row) for number, row in enumerate(rows)]
        case ast.Call(func=ast.Name(id="zip"), args=columns):
            sides = [_rows(resolve(each), resolve) for each in columns]
            return [ast.Tuple([*row], ast.Load()) for row in zip(*sides, strict=False)]
        case _:
            return []


def _of_dict(held: ast.Dict, how: str) -> list[ast.expr]:
    if any(key is None for key in held.keys):
        return []
    keys = [key for key in held.keys if key is not None]
    pairs = [_pair(key, value) for key, value in zip(keys, held.values, strict=True)]
    return {"items": list[ast.expr](pairs), "keys": keys, "values": held.values}.get(how, [])


def _pair(first: ast.expr, second: ast.expr) -> ast.Tuple:
    return ast.Tuple([first, second], ast.Load())


def _at(row: ast.expr, path: tuple[int, ...]) -> ast.expr | None:
    for number in path:
        if not isinstance(row, ast.Tuple | ast.List) or number >= len(row.elts):
            return None
        row = row.elts[number]
    return row
