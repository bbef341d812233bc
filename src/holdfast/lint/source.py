"""Source files as text to parse: plain Python, Databricks source format, and notebooks.

What cannot be read or parsed is a value that says so. Lines keep their numbers: what is not Python
is replaced by `pass` lines or blanks.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import warnings

import msgspec

LARGEST_BYTES = 5_000_000
_DATABRICKS = "# Databricks notebook source"
_MAGIC = re.compile(r"^(\s*)(%|!|\?)")


class Cell(msgspec.Struct, frozen=True):
    """A cell of a notebook: its number, and the line of the joined text that it begins at."""

    number: int
    first_line: int


class Source(msgspec.Struct, frozen=True):
    """Text that parses."""

    tree: ast.Module
    lines: tuple[str, ...]
    is_notebook: bool
    cells: tuple[Cell, ...] = ()
    unparsed_cells: tuple[int, ...] = ()

    def place(self, line: int) -> tuple[int | None, int]:
        """Return the cell and the line in it; no cell in a plain file."""
        cell = next((each for each in reversed(self.cells) if each.first_line <= line), None)
        return (None, line) if cell is None else (cell.number, line - cell.first_line + 1)


class Unreadable(msgspec.Struct, frozen=True):
    """A file that was not checked, and why."""

    reason: str


def has_streams(content: bytes) -> bool:
    """Return whether a file names anything that a rule looks at."""
    return b"writeStream" in content or b"readStream" in content


def is_python(content: bytes) -> bool:
    """Return whether a file parses as it is, without a look at magic lines."""
    return len(content) <= LARGEST_BYTES and not isinstance(_parse(content), Unreadable)


def read_source(content: bytes, *, is_ipynb: bool) -> Source | Unreadable:
    """Return the Python of a file."""
    if len(content) > LARGEST_BYTES:
        return Unreadable(f"larger than {LARGEST_BYTES:,} bytes")
    return _read_notebook(content) if is_ipynb else _read_python(content)


def _read_python(content: bytes) -> Source | Unreadable:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return Unreadable("not text in the encoding that it declares")
    is_notebook = text.lstrip("\ufeff").startswith(_DATABRICKS)
    lines = _without_magic(text.splitlines())
    tree = _parse("\n".join(lines))
    if isinstance(tree, Unreadable):
        return tree
    return Source(tree, tuple(text.splitlines()), is_notebook or lines != text.splitlines())


def _without_magic(lines: list[str]) -> list[str]:
    """Return lines in which `%magic` and `!command` are replaced by `pass`."""
    found: list[str] = []
    for line in lines:
        magic = _MAGIC.match(line)
        continues = bool(found) and found[-1].rstrip().endswith(("\\", "(", ","))
        found.append(f"{magic[1]}pass" if magic and not continues else line)
    return found


def _parse(text: str | bytes) -> ast.Module | Unreadable:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        return Unreadable(f"not Python 3: line {error.lineno or 0}")
    except (ValueError, RecursionError, MemoryError):
        return Unreadable("not Python 3")


def _read_notebook(content: bytes) -> Source | Unreadable:
    try:
        notebook = json.loads(content)
    except (ValueError, RecursionError):
        return Unreadable("not a notebook: no JSON")
    given = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(given, list):
        return Unreadable("not a notebook: it has no cells")
    lines: list[str] = []
    cells: list[Cell] = []
    unparsed: list[int] = []
    for number, cell in enumerate(given, start=1):
        text = _code_of(cell)
        if text is None:
            continue
        own = _without_magic(text.splitlines())
        if text.lstrip().startswith("%%") or isinstance(_parse("\n".join(own)), Unreadable):
            if not text.lstrip().startswith("%%"):
                unparsed.append(number)
            continue
        cells.append(Cell(number, len(lines) + 1))
        lines += own or [""]
    tree = _parse("\n".join(lines))
    if isinstance(tree, Unreadable):
        return tree
    return Source(
        tree, tuple(lines), is_notebook=True, cells=tuple(cells), unparsed_cells=tuple(unparsed)
    )


def _code_of(cell: object) -> str | None:
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source")
    if isinstance(source, list):
        return "".join(each for each in source if isinstance(each, str))
    return source if isinstance(source, str) else None
