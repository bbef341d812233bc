"""Files with known rows, and what a sink must hold after each of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from holdfast.drills.history import Row

FILES = 8
FILES_OF_A_CHAIN = 14
"""A batch that is killed before it is planned takes one file more."""
ROWS_PER_FILE = 200
KEYS = 50
LATE_ONE_IN, LATE_BY = 7, 10 * KEYS
"""Of rows that are merged, so many come late: with the number of an older row of their key."""
_FIRST_FILE = 1_700_000_000
"""Their times: files are read in the order of these."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What a query makes of the rows; `programs/builtin.py` has the query of its name."""

    name: str
    columns: str
    """Of its table, in PostgreSQL's words."""
    after: Callable[[int], Sequence[Row]]
    """What the table must hold after so many files."""
    state: Callable[[int], Sequence[Row]] = lambda _: ()
    """What its query must keep after so many files: the store's name, the key, the value."""
    is_keyed: bool = False
    """The first column is a key, the second says which row is newer."""
    parts: Callable[[Sequence[int]], int] = min
    """How many files it has seen, from how many each of its sources has read."""


def write_files(
    directory: Path,
    *,
    files: int = FILES,
    rows_per_file: int = ROWS_PER_FILE,
    line: Callable[[int], str] = str,
    ending: str = "",
) -> None:
    """Write the source into a new directory, one file after the other, numbered rows in each.

    Args:
        directory: Is not there yet.
        files: How many.
        rows_per_file: How many rows each has.
        line: How a row is written.
        ending: Of the files' names.
    """
    directory.mkdir(parents=True)
    for number in range(files):
        path = directory / f"f{number:03}{ending}"
        rows = range(number * rows_per_file, (number + 1) * rows_per_file)
        path.write_text("".join(f"{line(row)}\n" for row in rows))
        os.utime(path, (_FIRST_FILE + number, _FIRST_FILE + number))


def _all(files: int) -> Sequence[Row]:
    return [(row,) for row in range(files * ROWS_PER_FILE)]


def _newest(files: int) -> Sequence[Row]:
    newest: dict[int, int] = {}
    for row in range(files * ROWS_PER_FILE):
        number = row - LATE_BY if row % LATE_ONE_IN == 0 else row
        newest[row % KEYS] = max(newest.get(row % KEYS, number), number)
    return list(newest.items())


def _counts(files: int) -> Sequence[Row]:
    count = files * ROWS_PER_FILE // KEYS
    return [(key, count) for key in range(KEYS)] if count else []


def _counted(files: int) -> Sequence[Row]:
    return [("0/default", [key], [count]) for key, count in _counts(files)]


def _waiting(files: int) -> Sequence[Row]:
    """Every row of both sides: nothing says that none will come to be joined with it."""
    rows = range(files * ROWS_PER_FILE)
    return [
        *(("0/left", [row], [row]) for row in rows),
        *(("0/right", [row - ROWS_PER_FILE], [row]) for row in rows),
    ]


def _joined(files: int) -> Sequence[Row]:
    """Every row with the one a file later, once that is there."""
    return [(row, row + ROWS_PER_FILE) for row in range((files - 1) * ROWS_PER_FILE)]


APPEND = Shape(name="append", columns="id bigint", after=_all)
MERGE = Shape(
    name="merge", columns="key bigint PRIMARY KEY, id bigint", after=_newest, is_keyed=True
)
COUNTS = Shape(
    name="counts",
    columns="key bigint PRIMARY KEY, count bigint",
    after=_counts,
    state=_counted,
    is_keyed=True,
)
JOIN = Shape(
    name="join",
    columns="id bigint, later bigint",
    after=_joined,
    state=_waiting,
    # What is joined with a file is in the next one, of the other source.
    parts=lambda read: min(read[0] + 1, read[1]),
)
