"""The rows of a file, the files of a directory, an error and an operation: each in short."""

from __future__ import annotations

import os
from typing import Any

from campaigns.histories.history import Op
from campaigns.histories.memory_table import Row
from holdfast.errors import HoldfastError

_UNTOLD = ("leases", "journal", "repairs", "contracts", "runs", "acceptances")
"""Parts of a record that say who came by, and not what a stream is."""


def read_tree(directory: str, found: dict[str, Any]) -> None:
    """Read every file below a directory that says what a stream is."""
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return
    for each in entries:
        if each.is_dir():
            if each.name not in _UNTOLD:
                read_tree(each.path, found)
        else:
            with open(each.path, "rb", buffering=0) as opened:  # noqa: PTH123 - ten thousand times
                found[each.path] = opened.read()


def rows_of(stream: str, file: str, value: str) -> list[Row]:
    """Return the rows of a file: two, with keys that other files have too."""
    number = int(file.removesuffix(".json"))
    return [
        {
            "id": f"{stream}{number}.{each}",
            "key": f"{stream}k{(number + each) % 3}",
            "seq": f"{number:04d}",
            "v": value,
        }
        for each in range(2)
    ]


def without_value(row: Row) -> Row:
    """Return a row as its file has it: the query computes the value."""
    return {name: value for name, value in row.items() if name != "v"}


def first_line(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, HoldfastError):
        return f"{error.code}: {' '.join(f'{error.what} {error.why}'.split())[:300]}"
    return f"{type(error).__name__}: {error}"


def name_of(op: Op) -> str:
    """Return an operation in a few words."""
    rest = " ".join(f"{key}={value}" for key, value in op.items() if key != "do")
    return f"{op['do']} {rest}".strip()
