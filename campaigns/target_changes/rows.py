"""The rows of the stream, and what a table must hold after its batches and after a change.

A batch has four rows. Three have new ids. The fourth has the id that every batch brings again, so
that a merged table has an update in each batch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

SCHEMA = "id bigint, seq bigint, level int, amount decimal(10,2), note string"
SHARED_ID = 5000
_TIME = 1_700_000_000


class Row(NamedTuple):
    """One row of the stream."""

    id: int
    seq: int
    level: int
    amount: Decimal
    note: str | None


Rows = Sequence[Row]
Effect = Callable[[Rows], Rows]
"""What a change does to the rows that are in the table."""


def rows_of(batch: int) -> Rows:
    """Return the rows of a batch."""
    ids = (*(10 * batch + each for each in (1, 2, 3)), SHARED_ID)
    return [Row(each, batch, batch, Decimal(f"{each % 100}.25"), f"note {batch}") for each in ids]


def write_file(directory: Path, batch: int) -> None:
    """Write the file of a batch. Spark reads files in the order of their times."""
    lines = (json.dumps({**row._asdict(), "amount": float(row.amount)}) for row in rows_of(batch))
    beside = directory.parent / f"batch-{batch}.json"
    beside.write_text("".join(f"{line}\n" for line in lines))
    os.utime(beside, (_TIME + batch, _TIME + batch))
    beside.rename(directory / beside.name)  # complete when it appears


def append(there: Rows, more: Rows) -> Rows:
    """Return an appended table after a batch."""
    return [*there, *more]


def merge(there: Rows, more: Rows) -> Rows:
    """Return a table merged by id after a batch, the row with the largest seq per id."""
    newest = {row.id: row for row in there}
    for row in more:
        if row.id not in newest or row.seq > newest[row.id].seq:
            newest[row.id] = row
    return list(newest.values())


def project(rows: Iterable[Row], columns: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the values of some columns."""
    return [tuple(getattr(row, column) for column in columns) for row in rows]


THEIR_ROW = Row(9001, 0, 0, Decimal("0.25"), "theirs")
"""What another writer adds."""
INSERT_THEIRS = "INSERT INTO {} VALUES (9001, 0, 0, 0.25, 'theirs')"


def nothing(rows: Rows) -> Rows:
    """Leave every row as it is."""
    return rows


def remove_all(rows: Rows) -> Rows:
    """Take out every row."""
    del rows
    return []


def remove_first(rows: Rows) -> Rows:
    """Take out what the first batch brought, except the row with the shared id."""
    return [row for row in rows if row.id >= 10]


def keep_first(rows: Rows) -> Rows:
    """Take out what came after the first batch."""
    return [row for row in rows if row.seq < 1]


def first_again(rows: Rows) -> Rows:
    """Go back to what was there after the first batch, rows included that were merged since."""
    del rows
    return rows_of(0)


def add_theirs(rows: Rows) -> Rows:
    """Add the row of another writer."""
    return [*rows, THEIR_ROW]


def only_theirs(rows: Rows) -> Rows:
    """Replace everything by the row of another writer."""
    return add_theirs(remove_all(rows))


def first_to_one(rows: Rows) -> Rows:
    """Replace what the first batch brought by one row of another writer."""
    return [*remove_first(rows), THEIR_ROW._replace(id=1)]


def note_first(rows: Rows) -> Rows:
    """Overwrite the note in what the first batch brought."""
    return [row._replace(note="theirs") if row.id < 10 else row for row in rows]


def empty_notes(rows: Rows) -> Rows:
    """Set every note to NULL."""
    return [row._replace(note=None) for row in rows]


def cut_notes(rows: Rows) -> Rows:
    """Cut every note to three characters."""
    return [row._replace(note=(row.note or "")[:3]) for row in rows]


def shout_notes(rows: Rows) -> Rows:
    """Write every note in capitals."""
    return [row._replace(note=(row.note or "").upper()) for row in rows]


def round_amounts(rows: Rows) -> Rows:
    """Round every amount."""
    return [row._replace(amount=row.amount.to_integral_value()) for row in rows]
