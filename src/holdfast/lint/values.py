"""What a value in the code is, as far as it can be followed: literals, names, f-strings, joins.

A value is text with holes in it. A hole has a key if it is the same value wherever the key is the
same, and none if nothing is known. What cannot be followed is a hole, never a guess.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.lint.syntax import Binding, Function, Syntax, parameters_of

_DEEPEST = 12
_VOLATILE = {
    *("now", "utcnow", "today", "uuid4", "uuid1", "time", "time_ns", "mkdtemp", "mkstemp"),
    *("TemporaryDirectory", "NamedTemporaryFile", "token_hex", "getpid", "randint", "random"),
}
_VOLATILE_OWNERS = {"datetime", "date", "dt", "uuid", "time", "tempfile", "secrets", "os", "random"}
_VOLATILE_NAMES = {"uuid4", "uuid1", "mkdtemp", "TemporaryDirectory"}
_TEMPORARY = {"TMPDIR", "TEMP", "TMP"}
_READS = {"getenv", "get", "getProperty", "getArgument"}


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of a value that is not known."""

    key: str | None = None
    volatile: str | None = None
    """The expression that is different in every run, if that is why it is not known."""
    temporary: str | None = None
    """The expression that names the directory for temporary files, if it is that."""


@dataclass(frozen=True, slots=True)
class Text:
    """A value: what is known of it, and its holes."""

    parts: tuple[str | Hole, ...]

    @property
    def known(self) -> str | None:
        """The whole text; None if a part is not known."""
        if any(isinstance(part, Hole) for part in self.parts):
            return None
        return "".join(str(part) for part in self.parts)

    @property
    def start(self) -> str:
        """The known text before the first hole."""
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    @property
    def volatile(self) -> str | None:
        """What makes it different in every run."""
        holes = (part for part in self.parts if isinstance(part, Hole))
        return next((hole.volatile for hole in holes if hole.volatile), None)

    @property
    def temporary(self) -> str | None:
        """The expression that names the directory for temporary files, if it begins with that."""
        first = self.parts[0] if self.parts else ""
        return first.temporary if isinstance(first, Hole) else None

    def is_same(self, other: Text) -> bool:
        """Return whether two values are surely equal."""
        comparable = all(
            isinstance(part, str) or (part.key is not None and part.volatile is None)
            for part in self.parts
        )
        return bool(self.parts) and comparable and self.parts == other.parts

    def add(self, other: Text) -> Text:
        """Return this text followed by another."""
        parts = [*self.parts]
        for part in other.parts:
            if part == "":
                continue
            if parts and isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
        return Text(tuple(parts))


UNKNOWN = Text((Hole(),))


def text_of(known: str) -> Text:
    """Return a value that is known."""
    return Text((known,))


@dataclass(frozen=True, slots=True)
class Values:
    """Looks values up in one program, with the arguments of the call that is followed."""

    syntax: Syntax
    bound: Mapping[tuple[Function, str], tuple[ast.expr, Values]] = field(default_factory=dict)

    def read(self, node: ast.expr | None, depth: int = 0) -> Text:
        """Return what an expression is."""
        if node is None or depth > _DEEPEST:
            return UNKNOWN
        match node:
            case ast.Constant(value=value):
                return text_of(str(value))
            case ast.JoinedStr(values=values):
                return self._join([self._piece(each, depth) for each in values])
            case ast.BinOp(op=ast.Add() | ast.Div(), left=left, right=right):
                between = text_of("" if isinstance(node.op, ast.Add) else "/")
                pieces = [self.read(left, depth + 1), between, self.read(right, depth + 1)]
                return self._join(pieces)
            case ast.Name():
                return self._name(node, depth)
            case _:
                return self._member(node, depth)

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
                return Text((Hole(f"{node.id}@{line}"),))
            case Binding(value=value, line=line):
                read = self.read(value, depth + 1)
                named = (
                    Hole(f"{node.id}@{line}#{number}", part.volatile)
                    if isinstance(part, Hole) and part.key is None
                    else part
                    for number, part in enumerate(read.parts)
                )
                return Text(tuple(named))
            case str() as key:
                return Text((Hole(key),))
            case _:
                return UNKNOWN

    def _binding(self, node: ast.Name) -> Binding | tuple[ast.expr, Values] | str | None:
        """Return what a name stands for where it is used; a key if only that can be said."""
        own = scope = self.syntax.scope_of(node)
        while True:
            bindings = self.syntax.bindings.get((scope, node.id), [])
            if bindings and not isinstance(scope, ast.ClassDef):
                return self._pick(bindings, node, is_own=scope is own)
            if isinstance(scope, Function) and node.id in parameters_of(scope):
                given = self.bound.get((scope, node.id))
                return given or f"parameter {node.id}@{scope.lineno}"
            if isinstance(scope, ast.Module):
                return f"global {node.id}"
            scope = self.syntax.scope_of(scope)

    def _pick(self, bindings: list[Binding], node: ast.Name, *, is_own: bool) -> Binding | None:
        if not is_own:
            return bindings[0] if len(bindings) == 1 else None
        before = [each for each in bindings if each.line < node.lineno]
        if not before:
            return None
        last = before[-1]
        around = self.syntax.branches_of(node)
        inside = self.syntax.branches_of(last.node)
        return last if around[: len(inside)] == inside else None

    def _attribute(self, node: ast.Attribute, depth: int) -> Text:
        if node.attr == "name" and (made := self.read(node.value, depth + 1)).volatile:
            return made  # of a TemporaryDirectory
        match node.value:
            case ast.Name(id="self"):
                owner = self.syntax.class_of(node)
                found = self.syntax.attributes.get((owner, node.attr), []) if owner else []
                found = found or (self.syntax.bindings.get((owner, node.attr), []) if owner else [])
            case ast.Name(id=name):
                found = self._class_constant(name, node.attr)
            case _:
                found = []
        if len(found) == 1 and found[0].value is not None:
            read = self.read(found[0].value, depth + 1)
            if all(isinstance(part, str) or part.key or part.volatile for part in read.parts):
                return read
        if node.attr == "applicationId":
            return Text((Hole(None, "applicationId"),))
        key = _key(node)
        return Text((Hole(key),))

    def _class_constant(self, owner: str, name: str) -> list[Binding]:
        for (scope, bound), found in self.syntax.bindings.items():
            if bound == name and isinstance(scope, ast.ClassDef) and scope.name == owner:
                return found
        return []

    def _call(self, node: ast.Call, depth: int) -> Text:
        name = _name_of(node.func)
        if volatile := volatile_of(node):
            return Text((Hole(None, volatile),))
        if name in {"str", "Path", "lower", "strip", "as_posix"}:
            return self._wrapped(node, depth)
        if name == "join" and isinstance(node.func, ast.Attribute):
            pieces: list[Text] = []
            for each in node.args:
                pieces += [*([text_of("/")] if pieces else []), self.read(each, depth + 1)]
            return self._join(pieces) if _key(node.func.value) == "os.path" else UNKNOWN
        if name == "gettempdir":
            return Text((Hole(_key(node), temporary=f"{_key(node.func)}()"),))
        if name in _READS and all(isinstance(each, ast.Constant) for each in node.args):
            first = next((each.value for each in node.args if isinstance(each, ast.Constant)), "")
            return Text((_hole_of(node, str(first)),))
        return UNKNOWN

    def _wrapped(self, node: ast.Call, depth: int) -> Text:
        if len(node.args) == 1 and isinstance(node.func, ast.Name):
            return self.read(node.args[0], depth + 1)
        if not node.args and isinstance(node.func, ast.Attribute) and node.func.attr == "as_posix":
            return self.read(node.func.value, depth + 1)
        return UNKNOWN


def volatile_of(node: ast.Call) -> str | None:
    """Return the expression in a call that is different in every run, such as `datetime.now()`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            owner = each.func.value if isinstance(each.func, ast.Attribute) else None
            name = _name_of(each.func)
            is_owned = owner is not None and _name_of(owner) in _VOLATILE_OWNERS
            if (name in _VOLATILE and is_owned) or (name in _VOLATILE_NAMES and owner is None):
                return f"{ast.unparse(each.func)}()"
    return None


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _hole_of(node: ast.expr, name: str) -> Hole:
    """Return a value that is read by its name, such as a variable of the environment."""
    key = _key(node)
    return Hole(key, temporary=key if name in _TEMPORARY else None)


def _key(node: ast.expr) -> str:
    return ast.unparse(node)
