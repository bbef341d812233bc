"""The text of a program, cut and replaced where Python's parser says that something is."""

from __future__ import annotations

import ast

import msgspec

_PLACE = tuple[int, int]
"""A line from 1, and a column in bytes of UTF-8 from 0: as the parser counts."""


class TextEdit(msgspec.Struct, frozen=True):
    """One replacement."""

    start: _PLACE
    end: _PLACE
    text: str


class ProgramText:
    """The lines of a program, as they were parsed."""

    def __init__(self, text: str) -> None:
        """Split it as `holdfast.lint.source` does, so that the lines have the same numbers."""
        self.lines = text.splitlines(keepends=True)

    def between(self, start: _PLACE, end: _PLACE) -> str:
        """Return the text from one place to another."""
        if start[0] == end[0]:
            return _cut(self._line(start[0]), start[1], end[1])
        first = _cut(self._line(start[0]), start[1], None)
        middle = self.lines[start[0] : end[0] - 1]
        return "".join((first, *middle, _cut(self._line(end[0]), 0, end[1])))

    def of(self, node: ast.expr) -> str:
        """Return the text of an expression, without parentheses around it."""
        return self.between(start_of(node), end_of(node))

    def indentation(self, line: int) -> str:
        """Return the blanks that a line begins with."""
        text = self._line(line)
        return text[: len(text) - len(text.lstrip())] if text.strip() else ""

    def changed(self, edits: list[TextEdit]) -> str:
        """Return the whole text with replacements, which must not overlap."""
        position = (1, 0)
        parts: list[str] = []
        for edit in sorted(edits, key=lambda each: (each.start, each.end)):
            parts += [self.between(position, edit.start), edit.text]
            position = edit.end
        last = len(self.lines)
        return "".join((*parts, self.between(position, (last + 1, 0))))

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if number <= len(self.lines) else ""


def start_of(node: ast.expr | ast.stmt) -> _PLACE:
    """Return where a node begins."""
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt) -> _PLACE:
    """Return where a node ends."""
    return node.end_lineno or node.lineno, node.end_col_offset or 0


def _cut(line: str, start: int, end: int | None) -> str:
    return line.encode()[start:end].decode(errors="replace")
