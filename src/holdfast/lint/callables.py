"""Which function of the file an expression calls: through names, lambdas, partials and methods.

What cannot be followed is None, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from holdfast.lint.chains import bind
from holdfast.lint.syntax import Function, parameters_of
from holdfast.lint.values import Values

_DEEPEST = 8
_RUNS = frozenset({"foreachPartition", "foreach"})
"""Methods of a DataFrame that run a function on its rows."""
_MOST_BETWEEN = 3
"""Calls between a function and one that is still looked at."""


class Callee(msgspec.Struct, frozen=True):
    """A function of the file, and how values are looked up in it."""

    function: Function
    values: Values
    parameters: tuple[str, ...]
    """Those that a caller still has to give: without `self`, and without those of a partial."""

    def parameter_of(self, call: ast.Call, given: ast.expr) -> str | None:
        """Return the parameter that an argument of a call becomes."""
        if given in call.args:
            before = call.args[: call.args.index(given)]
            number = len(before)
            is_open = any(isinstance(each, ast.Starred) for each in before)
            return None if is_open or number >= len(self.parameters) else self.parameters[number]
        named = (each.arg for each in call.keywords if each.value is given)
        return next((name for name in named if name in self.parameters), None)


def find_callee(node: ast.expr, values: Values, depth: int = 0) -> Callee | None:
    """Return the function that an expression stands for."""
    node, values = values.resolve(node)
    if depth > _DEEPEST:
        return None
    match node:
        case ast.Lambda():
            return _callee(node, values)
        case ast.Name():
            found = values.syntax.function_for(node)
            return None if found is None else _callee(found, values)
        case ast.Attribute():
            return _method(node, values, depth)
        case ast.Call():
            return _made_by(node, values, depth)
        case _:
            return None


def all_called(functions: list[Callee]) -> list[Callee]:
    """Return functions with those of the file that they call, directly or through others."""
    called = [*functions]
    for _ in range(_MOST_BETWEEN):
        known = {each.function for each in called}
        new = (each for caller in called for each in _calls_inside(caller))
        fresh = {each.function: each for each in new if each.function not in known}
        called += fresh.values()
        if not fresh:
            break
    return called


def _calls_inside(caller: Callee) -> Iterator[Callee]:
    for each in caller.values.syntax.nodes_in(caller.function):
        if isinstance(each, ast.Call):
            found = find_callee(each.func, caller.values)
            if found is not None and found.function is not caller.function:
                yield replace(found, values=bind(found.function, each, found.values))
            given = each.args[0] if getattr(each.func, "attr", "") in _RUNS and each.args else None
            ran = None if given is None else find_callee(given, caller.values)
            if ran is not None and ran.function is not caller.function:
                yield ran


def find_method_of(node: ast.expr, name: str, values: Values) -> Callee | None:
    """Return a method of the object that an expression is."""
    owner = _class_of(node, values, 0)
    found = None if owner is None else _find_method(owner, name, values)
    return None if found is None else _callee(found, values)


def _callee(function: Function, values: Values) -> Callee:
    return Callee(function, values, tuple(parameters_of(function)))


def _made_by(node: ast.Call, values: Values, depth: int) -> Callee | None:
    """Return the function that a call returns: of a partial, a factory, or a callable object."""
    match node.func:
        case ast.Name(id="partial" | "partialmethod") | ast.Attribute(attr="partial"):
            return _partial(node, values, depth)
        case ast.Name(id=name):
            if owner := _class_named(name, values):
                found = _find_method(owner, "__call__", values)
                return None if found is None else _callee(found, values)
            factory = values.syntax.function_for(node.func)
            return None if factory is None else _inner(factory, node, values)
        case _:
            return None


def _partial(node: ast.Call, values: Values, depth: int) -> Callee | None:
    if not node.args:
        return None
    whole = find_callee(node.args[0], values, depth + 1)
    if whole is None or any(isinstance(each, ast.Starred) for each in node.args):
        return whole
    given, names = node.args[1:], {each.arg for each in node.keywords}
    left = tuple(each for each in whole.parameters[len(given) :] if each not in names)
    pairs = [
        *zip(whole.parameters, given, strict=False),
        *((each.arg, each.value) for each in node.keywords if each.arg),
    ]
    bound = {(whole.function, name): (value, values) for name, value in pairs}
    seen = Values(whole.values.syntax, {**whole.values.bound, **bound})
    return Callee(whole.function, seen, left)


def _inner(factory: Function, node: ast.Call, values: Values) -> Callee | None:
    """Return the only function that is defined inside another one, which returns it."""
    inside = [each for each in ast.walk(factory) if isinstance(each, Function)][1:]
    lambdas = [each for each in inside if isinstance(each, ast.Lambda)]
    inner = [each for each in inside if not isinstance(each, ast.Lambda)] or lambdas
    return _callee(inner[0], bind(factory, node, values)) if len(inner) == 1 else None


def _method(node: ast.Attribute, values: Values, depth: int) -> Callee | None:
    owner = _class_of(node.value, values, depth)
    if owner is None:
        return None
    held = values.syntax.attributes.get((owner, node.attr), [])
    if len(held) == 1 and held[0].value is not None:
        return find_callee(held[0].value, values, depth + 1)
    found = _find_method(owner, node.attr, values)
    return None if found is None else _callee(found, values)


def _class_of(node: ast.expr, values: Values, depth: int) -> ast.ClassDef | None:
    """Return the class of the file that an expression is an instance of, or is."""
    if isinstance(node, ast.Name) and node.id in {"self", "cls"}:
        return values.syntax.class_of(node)
    resolved, values = values.resolve(node)
    if depth > _DEEPEST:
        return None
    match resolved:
        case ast.Name(id=name) if _class_named(name, values) is None:
            return _annotated(resolved, values)
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
            return _class_named(name, values)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            owner = values.syntax.class_of(resolved)
            held = values.syntax.attributes.get((owner, name), []) if owner else []
            value = held[0].value if len(held) == 1 else None
            return None if value is None else _class_of(value, values, depth + 1)
        case _:
            return None


def _annotated(node: ast.Name, values: Values) -> ast.ClassDef | None:
    """Return the class that a parameter is said to be of."""
    scope = values.syntax.scope_of(node)
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    given = (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)
    said = next((each.annotation for each in given if each.arg == node.id), None)
    return _class_named(said.id, values) if isinstance(said, ast.Name) else None


def _class_named(name: str, values: Values) -> ast.ClassDef | None:
    found = values.syntax.classes.get(name, [])
    return found[0] if len(found) == 1 else None


def _find_method(
    owner: ast.ClassDef, name: str, values: Values, *, depth: int = 0
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return a method of a class, or of the classes of the file that it extends."""
    for each in owner.body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == name:
            return each
    for base in owner.bases if depth < _DEEPEST else ():
        above = _class_named(base.id, values) if isinstance(base, ast.Name) else None
        found = None if above is None else _find_method(above, name, values, depth=depth + 1)
        if found is not None:
            return found
    return None
