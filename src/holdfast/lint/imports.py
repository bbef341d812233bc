"""Constants of other modules, as the file that imports them names them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

from holdfast.lint.syntax import Syntax, read_syntax
from holdfast.lint.values import Values

Constants = Mapping[str, str]
FindConstants = Callable[[str, int], Constants | None]
"""Returns the constants of a module by its name and the dots before it; None if it is not there."""


def no_modules(_module: str, _level: int) -> None:
    """Return that no other module is there to be read."""


def constants_in(tree: ast.Module) -> Constants:
    """Return the texts that a module gives to a name once: `APP`, `Config.APP`."""
    syntax = read_syntax(tree)
    values = Values(syntax)
    found: dict[str, str] = {}
    for (scope, name), bindings in syntax.bindings.items():
        owner = "" if scope is tree else f"{getattr(scope, 'name', '')}."
        if len(bindings) != 1 or not (scope is tree or isinstance(scope, ast.ClassDef)):
            continue
        known = values.read(bindings[0].value).known if bindings[0].value is not None else None
        if known and not syntax.branches_of(bindings[0].node):
            found[f"{owner}{name}"] = known
    return found


def imported_constants(syntax: Syntax, find: FindConstants) -> Constants:
    """Return every constant of another module that a file can name."""
    return {
        name: text
        for node in syntax.imports
        for name, text in (
            _plain(node, find) if isinstance(node, ast.Import) else _from(node, find)
        )
    }


def _plain(node: ast.Import, find: FindConstants) -> Iterator[tuple[str, str]]:
    for each in node.names:
        yield from _below(each.asname or each.name, find(each.name, 0))


def _from(node: ast.ImportFrom, find: FindConstants) -> Iterator[tuple[str, str]]:
    module = node.module or ""
    constants = (find(module, node.level) if module else None) or {}
    for each in node.names:
        own = each.asname or each.name
        if each.name == "*":
            yield from constants.items()
        elif each.name in constants:
            yield own, constants[each.name]
        elif any(name.startswith(f"{each.name}.") for name in constants):
            of_class = {n: t for n, t in constants.items() if n.startswith(f"{each.name}.")}
            yield from ((f"{own}{n.removeprefix(each.name)}", t) for n, t in of_class.items())
        else:
            inner = f"{module}.{each.name}" if module else each.name
            yield from _below(own, find(inner, node.level))


def _below(name: str, constants: Constants | None) -> Iterator[tuple[str, str]]:
    return ((f"{name}.{each}", text) for each, text in (constants or {}).items())
