"""Method chains: `df.writeStream.format("delta").option(…).start()` as a list of steps."""

from __future__ import annotations

import ast

import msgspec

from holdfast.lint.syntax import Function, Syntax, defaults_of, parameters_of
from holdfast.lint.texts import Text
from holdfast.lint.values import Values

_DEEPEST = 8


class ChainLink(msgspec.Struct, frozen=True):
    """One name of a chain, and its call if it is called."""

    name: str
    node: ast.Attribute
    call: ast.Call | None
    values: Values

    @property
    def at(self) -> tuple[int, int]:
        """Line and column of the name, from 1."""
        column = (self.node.end_col_offset or 0) - len(self.name)
        return self.node.end_lineno or self.node.lineno, column + 1

    def argument(self, number: int, *names: str) -> ast.expr | None:
        """Return an argument by its place or by one of its names."""
        if self.call is None:
            return None
        if number < len(self.call.args):
            return self.call.args[number]
        return next((each.value for each in self.call.keywords if each.arg in names), None)

    def text(self, number: int, *names: str) -> Text | None:
        """Return the value of an argument."""
        node = self.argument(number, *names)
        return None if node is None else self.values.read(node)


class Chain(msgspec.Struct, frozen=True):
    """What a chain begins with, and its steps."""

    root: ast.expr
    steps: tuple[ChainLink, ...]


def read_chain(node: ast.expr, values: Values, depth: int = 0) -> Chain:
    """Return a chain, continued through the variables and functions of the file it begins with."""
    steps: list[ChainLink] = []
    while True:
        call = node if isinstance(node, ast.Call) else None
        attribute = node if call is None else call.func
        if not isinstance(attribute, ast.Attribute):
            break
        steps.append(ChainLink(attribute.attr, attribute, call, values))
        node = attribute.value
    chain = Chain(node, tuple(reversed(steps)))
    before = _before(node, values, depth) if depth < _DEEPEST else None
    return chain if before is None else Chain(before.root, before.steps + chain.steps)


def _before(node: ast.expr, values: Values, depth: int) -> Chain | None:
    """Return the chain that a variable or a call of a function stands for."""
    if isinstance(node, ast.Name):
        earlier = _earlier(node, values.syntax)
        if earlier is not None:
            return read_chain(earlier, values, depth + 1)
        resolved, found = values.resolve(node)
        return None if resolved is node else read_chain(resolved, found, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _returned(node, values, depth)
    return None


def _earlier(node: ast.Name, syntax: Syntax) -> ast.expr | None:
    """Return the last value that a variable got in the same scope, in whichever branch."""
    bindings = syntax.bindings.get((syntax.scope_of(node), node.id), [])
    before = [each for each in bindings if each.line < node.lineno and each.value is not None]
    return before[-1].value if before else None


def _returned(node: ast.Call, values: Values, depth: int) -> Chain | None:
    assert isinstance(node.func, ast.Name)
    found = values.syntax.function_for(node.func)
    if found is None:
        return None
    returns = [each.value for each in ast.walk(found) if isinstance(each, ast.Return)]
    if len(returns) != 1 or returns[0] is None:
        return None
    return read_chain(returns[0], bind(found, node, values), depth + 1)


def bind(function: Function, call: ast.Call, values: Values) -> Values:
    """Return how values are looked up in a function for one of its calls."""
    names = parameters_of(function)
    given = dict(zip(names, call.args, strict=False))
    given |= {each.arg: each.value for each in call.keywords if each.arg in names}
    bound = {(function, name): (value, values) for name, value in given.items()}
    if any(isinstance(each, ast.Starred) for each in call.args):
        bound = {}
    elif all(each.arg for each in call.keywords):
        outside = Values(values.syntax)
        missing = (each for each in defaults_of(function) if each[0] not in given)
        bound |= {(function, name): (value, outside) for name, value in missing}
    return Values(values.syntax, {**values.bound, **bound})
