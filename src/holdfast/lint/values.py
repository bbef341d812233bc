"""What a value in the code is, as far as it can be followed: literals, names, f-strings, joins.

A value is text with holes in it. A hole has a key if it is the same value wherever the key is the
same, and none if nothing is known. What cannot be followed is a hole, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

import msgspec

from holdfast.lint.formatting import format_pieces, percent_pieces
from holdfast.lint.loops import elements_of
from holdfast.lint.syntax import Binding, Function, Syntax, parameters_of
from holdfast.lint.texts import UNKNOWN, Hole, Text, text_of
from holdfast.lint.volatile import name_of, passed_on, volatile_of

_DEEPEST = 12
_TEMPORARY = {"TMPDIR", "TEMP", "TMP"}
_FORMATS = {"join", "joinpath", "format"}
_READS = {"getenv", "get", "getProperty", "getArgument"}


class Values(msgspec.Struct, frozen=True):
    """Looks values up in one program, with the arguments of the call that is followed."""

    syntax: Syntax
    bound: Mapping[tuple[Function, str], tuple[ast.expr, Values]] = msgspec.field(
        default_factory=dict
    )

    def read(self, node: ast.expr | None, depth: int = 0) -> Text:
        """Return what an expression is."""
        if node is None or depth > _DEEPEST:
            return UNKNOWN
        match node:
            case ast.Constant(value=value):
                return text_of(str(value))
            case ast.JoinedStr(values=values):
                return self._join([self._piece(each, depth) for each in values])
            case ast.BinOp():
                return self._operation(node, depth)
            case ast.Name():
                return self._name(node, depth)
            case _:
                return self._member(node, depth)

    def _operation(self, node: ast.BinOp, depth: int) -> Text:
        left = self.read(node.left, depth + 1)
        match node.op:
            case ast.Add() | ast.Div():
                between = text_of("" if isinstance(node.op, ast.Add) else "/")
                return self._join([left, between, self.read(node.right, depth + 1)])
            case ast.Mod():
                return self._join(percent_pieces(left.known, node.right, self._reader(depth)))
            case _:
                return UNKNOWN

    def _member(self, node: ast.expr, depth: int) -> Text:
        match node:
            case ast.Attribute():
                return self._attribute(node, depth)
            case ast.Subscript(value=holder, slice=ast.Constant(value=key)):
                entry = self.entry_of(holder, str(key), depth)
                if entry is not None:
                    return self.read(entry, depth + 1)
                return Text((_hole_of(node, str(key)),))
            case ast.Call():
                return self._call(node, depth)
            case _:
                return UNKNOWN

    def resolve(self, node: ast.expr, depth: int = 0) -> tuple[ast.expr, Values]:
        """Follow a name to the expression that it stands for, where that is one."""
        if depth > _DEEPEST or not isinstance(node, ast.Name):
            return node, self
        found = self._binding(node)
        match found:
            case (expression, values):
                return values.resolve(expression, depth + 1)
            case Binding(value=ast.expr() as value):
                return self.resolve(value, depth + 1)
            case _:
                return node, self

    def entry_of(self, holder: ast.expr, key: str, depth: int = 0) -> ast.expr | None:
        """Return the value of a key of a dictionary that is written down in the file."""
        node, _ = self.resolve(holder, depth)
        if not isinstance(node, ast.Dict):
            return None
        pairs = zip(node.keys, node.values, strict=True)
        return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == key), None)

    def _piece(self, node: ast.expr, depth: int) -> Text:
        if isinstance(node, ast.FormattedValue):
            return self.read(node.value, depth + 1)
        return self.read(node, depth + 1)

    def _reader(self, depth: int) -> Callable[[ast.expr], Text]:
        return lambda node: self.read(node, depth + 1)

    @staticmethod
    def _join(pieces: list[Text]) -> Text:
        whole = Text(())
        for piece in pieces:
            whole = whole.add(piece)
        return whole

    def _name(self, node: ast.Name, depth: int) -> Text:
        found = self._binding(node)
        match found:
            case (expression, values):
                return values.read(expression, depth + 1)
            case Binding(value=None, line=line):
                return Text((Hole(f"{node.id}@{line}", among=self._looped(found, depth)),))
            case Binding(value=value, line=line):
                read = self.read(value, depth + 1)
                named = (
                    Hole(f"{node.id}@{line}#{number}", part.volatile)
                    if isinstance(part, Hole) and part.key is None
                    else part
                    for number, part in enumerate(read.parts)
                )
                return Text(tuple(named))
            case Text():
                return found
            case _:
                return UNKNOWN

    def _looped(self, binding: Binding, depth: int) -> tuple[str, ...]:
        """Return what the variable of a loop can be, if the code says all of it."""
        if binding.looped is None:
            return ()
        elements = elements_of(binding.looped, lambda node: self.resolve(node, depth + 1)[0])
        texts = [self.read(each, depth + 1).known for each in elements]
        return tuple(each for each in texts if each) if all(texts) else ()

    def _parameter(self, function: Function, name: str) -> Text:
        """Return a parameter that no followed call gives: its default, if the file gives no other.

        The default is no known value, because another file may call the function.
        """
        default = self.syntax.default_of(function, name)
        read = UNKNOWN if default is None else Values(self.syntax).read(default)
        among = (read.known,) if read.known else ()
        return Text((Hole(f"parameter {name}@{function.lineno}", among=among),))

    def _binding(self, node: ast.Name) -> Binding | tuple[ast.expr, Values] | Text | None:
        """Return what a name stands for where it is used; a hole with a key if that is not known.

        A name that the file does not bind is a constant of another module, or a built-in.
        """
        own = scope = self.syntax.scope_of(node)
        while True:
            bindings = self.syntax.bindings.get((scope, node.id), [])
            if bindings and not isinstance(scope, ast.ClassDef):
                return self._pick(bindings, node, is_own=scope is own)
            if isinstance(scope, Function) and node.id in parameters_of(scope):
                given = self.bound.get((scope, node.id))
                return given or self._parameter(scope, node.id)
            if isinstance(scope, ast.Module):
                known = self.syntax.imported.get(node.id)
                return text_of(known) if known else Text((Hole(f"global {node.id}"),))
            scope = self.syntax.scope_of(scope)

    def _pick(self, bindings: list[Binding], node: ast.Name, *, is_own: bool) -> Binding | None:
        if not is_own:
            return bindings[0] if len(bindings) == 1 else None
        before = [each for each in bindings if each.line < node.lineno]
        if not before:
            return None
        last = before[-1]
        around = self.syntax.branches_of(node)
        inside = self.syntax.branches_of(last.looped.loop if last.looped else last.node)
        return last if around[: len(inside)] == inside else None

    def _attribute(self, node: ast.Attribute, depth: int) -> Text:
        key = _key(node)
        if known := self.syntax.imported.get(key):
            return text_of(known)
        if not isinstance(node.value, ast.Name) or node.attr in {"name", "hex", "int"}:
            made = self.read(node.value, depth + 1)
            if made.volatile:
                return made  # of a TemporaryDirectory, or a uuid
        found = self._assigned(node)
        if len(found) == 1 and found[0].value is not None:
            read = self.read(found[0].value, depth + 1)
            if all(isinstance(part, str) or part.key or part.volatile for part in read.parts):
                return read
        is_of_run = node.attr == "applicationId"
        return Text((Hole(None, "applicationId") if is_of_run else Hole(key),))

    def _assigned(self, node: ast.Attribute) -> list[Binding]:
        """Return what an attribute of `self` or a class of the file is given."""
        match node.value:
            case ast.Name(id="self"):
                owner = self.syntax.class_of(node)
                if owner is None:
                    return []
                own = self.syntax.attributes.get((owner, node.attr), [])
                return own or self.syntax.bindings.get((owner, node.attr), [])
            case ast.Name(id=name):
                return self._class_constant(name, node.attr)
            case _:
                return []

    def _class_constant(self, owner: str, name: str) -> list[Binding]:
        for (scope, bound), found in self.syntax.bindings.items():
            if bound == name and isinstance(scope, ast.ClassDef) and scope.name == owner:
                return found
        return []

    def _call(self, node: ast.Call, depth: int) -> Text:
        name = name_of(node.func)
        if volatile := volatile_of(node):
            return self._made_with(node, volatile, depth)
        if name in {"str", "Path", "lower", "strip", "as_posix"}:
            return self._wrapped(node, depth)
        if name in _FORMATS and isinstance(node.func, ast.Attribute):
            return self._formatted(node, node.func, depth)
        if name == "gettempdir":
            return Text((Hole(_key(node), temporary=f"{_key(node.func)}()"),))
        if name in _READS and all(isinstance(each, ast.Constant) for each in node.args):
            first = next((each.value for each in node.args if isinstance(each, ast.Constant)), "")
            return Text((_hole_of(node, str(first)),))
        return self._passed(node, depth)

    def _made_with(self, node: ast.Call, volatile: str, depth: int) -> Text:
        """Return a value with something in it that is different in every run."""
        if name_of(node.func) in _FORMATS and isinstance(node.func, ast.Attribute):
            made = self._formatted(node, node.func, depth)
            if made.volatile:
                return made
        return Text((Hole(None, volatile),))

    def _formatted(self, node: ast.Call, function: ast.Attribute, depth: int) -> Text:
        """Return the text that `format`, `join` or `os.path.join` makes."""
        read = self._reader(depth)
        if function.attr == "format":
            return self._join(format_pieces(read(function.value).known, node, read))
        between, parts = text_of("/"), [*node.args]
        if function.attr == "joinpath":
            parts = [function.value, *parts]
        elif _key(function.value) not in {"os.path", "posixpath"}:
            between = read(function.value)
            given = self.resolve(parts[0])[0] if len(parts) == 1 else None
            if between.known is None or not isinstance(given, ast.List | ast.Tuple):
                return self._passed(node, depth)
            parts = given.elts
        pieces: list[Text] = []
        for each in parts:
            pieces += [*([between] if pieces else []), read(each)]
        return self._join(pieces)

    def _passed(self, node: ast.Call, depth: int) -> Text:
        """Return that a call is different in every run, if what it makes its text from is."""
        made_from = passed_on(node)
        read = UNKNOWN if made_from is None else self.read(made_from, depth + 1)
        return Text((Hole(None, read.volatile),)) if read.volatile else UNKNOWN

    def _wrapped(self, node: ast.Call, depth: int) -> Text:
        if len(node.args) == 1 and isinstance(node.func, ast.Name):
            return self.read(node.args[0], depth + 1)
        if not node.args and isinstance(node.func, ast.Attribute) and node.func.attr == "as_posix":
            return self.read(node.func.value, depth + 1)
        return self._passed(node, depth)


def _hole_of(node: ast.expr, name: str) -> Hole:
    """Return a value that is read by its name, such as a variable of the environment."""
    key = _key(node)
    return Hole(key, temporary=key if name in _TEMPORARY else None)


def _key(node: ast.expr) -> str:
    return ast.unparse(node)
