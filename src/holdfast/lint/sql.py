"""SQL statements that a program runs, as far as their text is known."""

from __future__ import annotations

import ast
import re

import msgspec

from holdfast.lint.texts import Hole, Text
from holdfast.lint.values import Values
from holdfast.lint.volatile import name_of

EXECUTES = frozenset({"sql", "execute", "executemany", "execute_values", "execute_batch"})
_INSERT = re.compile(r"\s*insert\s+into\s+(?:table\s+)?(\S+)", re.IGNORECASE)
"""Not INSERT OVERWRITE: what a batch writes again replaces what it wrote before."""
_MERGE = re.compile(r"\s*merge\s+into\b", re.IGNORECASE)
_DELETE = re.compile(r"\s*(?:delete\s+from|truncate(?:\s+table)?)\s+(\S+)", re.IGNORECASE)
RECOGNISES = re.compile(
    r"\bmerge\s+into\b|\bon\s+conflict\b|\bon\s+duplicate\b|\binsert\s+(?:or\s+)?ignore\b|"
    r"\breplace\s+(?:into|where|using|on)\b|\bdelete\s+from\b|\btruncate\s+table\b|"
    r"(?<!\bif )\bnot\s+exists\b|\bleft[_ ]?anti\b|\bnot\s+in\s*\(\s*select\b",
    re.IGNORECASE,
)
"""What makes a statement skip or replace rows that are already there."""


class Statement(msgspec.Struct, frozen=True):
    """One statement, with the table that it changes."""

    text: str
    """With `{key}` for what is not known."""
    table: str | None

    @property
    def inserts(self) -> bool:
        """Whether it appends rows."""
        return bool(_INSERT.match(self.text))

    @property
    def writes(self) -> bool:
        """Whether it brings rows into a table, by INSERT or MERGE."""
        return self.inserts or bool(_MERGE.match(self.text))

    @property
    def deletes(self) -> bool:
        """Whether it deletes rows."""
        return bool(_DELETE.match(self.text))

    @property
    def recognises(self) -> bool:
        """Whether it skips or replaces rows that are already there."""
        return bool(RECOGNISES.search(self.text))


def statement_of(call: ast.Call, values: Values) -> Statement | None:
    """Return the statement that a call runs; None if nothing of it is known."""
    place = 1 if name_of(call.func) in {"execute_values", "execute_batch"} else 0
    if place >= len(call.args):
        return None
    node = call.args[place]
    if isinstance(node, ast.Call) and name_of(node.func) in {"text", "SQL", "format"}:
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        node = node.args[0] if node.args and name_of(node.func) != "format" else (inner or node)
    text = values.read(node)
    if not any(isinstance(part, str) and part.strip() for part in text.parts):
        return None
    shown = shown_text(text)
    found = _INSERT.match(shown) or _DELETE.match(shown)
    return Statement(shown, table_name(found[1]) if found else None)


def shown_text(text: Text) -> str:
    """Return a text with `{key}` for each hole."""
    return "".join(
        part if isinstance(part, str) else f"{{{(part.key or '?').replace(' ', '_')}}}"
        for part in text.parts
    )


def table_name(given: str) -> str | None:
    """Return the last part of a table's name or path, without quotes; None if it is not known."""
    bare = re.sub(r"[`\"'\[\]();]", "", given.partition("(")[0]).rstrip("/").lower()
    last = re.split(r"[./]", bare)[-1] if "{" not in bare else bare
    return last if last and "?" not in last else None


def table_of(text: Text | None) -> str | None:
    """Return the name of a table from the value that names it."""
    if text is None or any(isinstance(part, Hole) and part.key is None for part in text.parts):
        return None
    return table_name(shown_text(text))
