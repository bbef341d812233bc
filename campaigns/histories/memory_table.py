"""Tables in memory that can be settled as PostgreSQL's can: rows are copied aside, then emptied.

Each row has the mark of the generation that wrote it, as PostgreSQL has the transaction. What
PostgreSQL does to rows is played too: triggers stamp them, and a foreign key does not let the table
be emptied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from holdfast.ledger.output import CannotSettleError
from holdfast.ledger.row import LedgerRow

Row = dict[str, Any]
TABLES: dict[str, Table] = {}
"""Every table of this process, by its place."""
COLUMNS = ("id", "key", "seq", "v")


class UnmergeableError(CannotSettleError):
    """A key comes twice in one batch, and nothing says which row is later."""

    code = "UNMERGEABLE"


@dataclass
class SinkContents:
    """What the ledger keeps of one stream."""

    row: LedgerRow
    brought: int = 0
    storage: int = 0


@dataclass(frozen=True)
class Opened:
    """How a generation was opened in a table."""

    put_back: int
    brought: int


@dataclass
class Table:
    """One table with its ledger."""

    place: str
    rows: list[Row] = field(default_factory=list)
    columns: tuple[str, ...] = COLUMNS
    ledger: dict[str, SinkContents] = field(default_factory=dict)
    opened: dict[str, Opened] = field(default_factory=dict)
    """By the mark of the generation."""
    copies: dict[str, tuple[tuple[str, ...], list[Row]]] = field(default_factory=dict)
    storage: int = 1
    """Changes when the table is emptied."""
    changes: int = 0
    """Counts what tells one content from another."""
    has_trigger: bool = False
    is_referenced: bool = False
    stamps: int = 0

    def insert(self, rows: list[Row], *, mark: str = "") -> None:
        """Insert rows, through the trigger if there is one."""
        self.rows = [*self.rows, *self._fired(rows, mark)]
        self.changes += 1

    def own(self, mark: str) -> list[Row]:
        """Return the rows that one generation wrote, and that nobody has changed since."""
        return [row for row in self.rows if row.get("mark") == mark]

    def _fired(self, rows: list[Row], mark: str) -> Iterator[Row]:
        for row in rows:
            fired = {**row, "mark": mark}
            if self.has_trigger:
                self.stamps += 1
                fired["stamp"] = self.stamps
            yield fired

    def merge(self, rows: list[Row], *, sequenced: bool, mark: str = "") -> int:
        """Merge rows by their key; return how many are new."""
        keys = [row["key"] for row in rows]
        if not sequenced and len(set(keys)) < len(keys):
            raise UnmergeableError(self.place, "Keys come twice in one batch.")
        before = len(self.rows)
        marked = [{**row, "mark": mark} for row in rows]
        after = merged(self.rows, marked, sequenced=sequenced)
        self.rows = [*after[:before], *self._fired(after[before:], mark)]
        self.changes += 1
        return len(after) - before


def merged(there: list[Row], rows: list[Row], *, sequenced: bool) -> list[Row]:
    """Return what a table holds once rows were merged into it by their key; new ones last."""
    after = list(there)
    by_key = {row["key"]: number for number, row in enumerate(after)}
    for row in rows:
        at = by_key.get(row["key"])
        if at is None:
            by_key[row["key"]] = len(after)
            after.append(row)
        elif not sequenced or _order(row) > _order(after[at]):
            stamp = {key: after[at][key] for key in ("stamp",) if key in after[at]}
            after[at] = {**row, **stamp}
    return after


def _order(row: Row) -> tuple[Any, ...]:
    return (row["seq"], row["id"], row["v"])
