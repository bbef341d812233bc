"""The tables of a history in memory: as PostgreSQL settles them, and as Delta does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from campaigns.histories.delta_table import LogDelta, LogTable, forget_tables
from campaigns.histories.machine import Machine
from campaigns.histories.memory_sink import MemorySink
from campaigns.histories.memory_table import TABLES, Row, Table
from holdfast.sinks.sink import SinkSpec


class MemoryBackend:
    """Tables in memory, and Delta tables by their logs."""

    machine = Machine

    def __init__(self) -> None:
        """Know no table."""
        self._home = Path()
        self._with_versions: set[str] = set()

    def begin(self, home: Path) -> None:
        """Begin a history without tables."""
        self._home = home
        self._with_versions.clear()
        TABLES.clear()
        forget_tables()

    def create(self, name: str, *, by_key: bool, versions: bool) -> None:
        """Create a table."""
        del by_key
        if versions:
            self._with_versions.add(name)
            self._log(name).create()
        else:
            TABLES[self._place(name)] = Table(self._place(name))

    def sink(self, name: str, *, by_key: bool, sequenced: bool) -> SinkSpec:
        """Return the sink that writes into a table."""
        given: dict[str, Any] = {
            "keys": ("key",) if by_key else (),
            "sequence_by": "seq" if sequenced else None,
        }
        if name in self._with_versions:
            return LogDelta(path=f"file:{self._home / name}", **given)
        return MemorySink(self._place(name), **given)

    def rows(self, name: str) -> list[Row]:
        """Return every row."""
        if name in self._with_versions:
            return self._log(name).rows()
        return TABLES[self._place(name)].rows

    def insert(self, name: str, rows: list[Row]) -> None:
        """Insert rows as another program."""
        if name in self._with_versions:
            self._log(name).append(rows, None)
        else:
            TABLES[self._place(name)].insert(rows)

    def update(self, name: str, row_id: str, value: str) -> None:
        """Update a row as another program."""
        changed = {"v": value, "mark": ""}  # no longer the row that its writer wrote
        rows = [{**row, **changed} if row["id"] == row_id else row for row in self.rows(name)]
        self._replace(name, rows, by="UPDATE")

    def delete(self, name: str, row_id: str) -> None:
        """Delete a row as another program."""
        rows = [row for row in self.rows(name) if row["id"] != row_id]
        self._replace(name, rows, by="DELETE")

    def _replace(self, name: str, rows: list[Row], *, by: str) -> None:
        if name in self._with_versions:
            log = self._log(name)
            log.overwrite(rows, None, by=by, predicate="[id = 'x']")
        else:
            table = TABLES[self._place(name)]
            table.rows, table.changes = rows, table.changes + 1

    def alter(self, name: str, what: str) -> None:
        """Change the table as its owner does."""
        if name in self._with_versions:
            log = self._log(name)
            if what == "vacuum":
                log.vacuum()
            if what == "optimize" and log.rows():
                log.overwrite(log.rows(), None, by="OPTIMIZE")
            return
        table = TABLES[self._place(name)]
        match what:
            case "add-column":
                table.columns = (*table.columns, f"note{len(table.columns)}")
            case "trigger" | "no-trigger":
                table.has_trigger = what == "trigger"
            case "reference" | "no-reference":
                table.is_referenced = what == "reference"
            case _:
                pass

    def ledger(self, name: str) -> Any:
        """Return what the ledger says, without epochs; to be compared."""
        if name in self._with_versions:
            return sorted(self._log(name).active())
        held = TABLES[self._place(name)].ledger
        return [_without_epoch(each.row) for each in held.values()]

    def _log(self, name: str) -> LogTable:
        return LogTable(self._home / name)

    def _place(self, name: str) -> str:
        return f"{self._home}/{name}"


def _without_epoch(row: Any) -> tuple[Any, ...]:
    return (row.stream, row.generation, row.binding, row.last_batch, row.digest, row.end_offsets)
