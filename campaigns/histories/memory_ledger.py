"""The ledger of a table in memory: settled as PostgreSQL's is, by the marks of its rows."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING

from campaigns.histories.memory_table import TABLES, Opened, Row, SinkContents, Table
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
)
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.ledger.store import LedgerStore, Since
from holdfast.points import reached

if TYPE_CHECKING:
    from holdfast.sinks.sink import SinkSpec

LOOKING = "ledger-read"
"""A point before each look into a ledger: a driver that was replaced can come in just there."""


def mark_of(stream: str, generation: int) -> str:
    """Return the mark of the rows that a generation writes."""
    return f"{stream}/{generation}"


class MemoryLedger(LedgerStore):
    """The ledger of one table in memory."""

    def __init__(self, sink: SinkSpec) -> None:
        """Read nothing yet."""
        self._sink = sink

    @property
    def table(self) -> Table | None:
        """The table; None when it was not created yet."""
        return TABLES.get(self._sink.place)

    def _there(self) -> Table:
        table = self.table
        assert table is not None, self._sink.place
        return table

    def label(self, stream: str) -> str:
        """Return the sink's label."""
        del stream
        return self._sink.label

    def read(self, stream: str) -> LedgerRow | None:
        """Return the row of a stream."""
        reached(LOOKING)
        held = None if self.table is None else self.table.ledger.get(stream)
        return None if held is None else held.row

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table lacks what was brought."""
        table = self._there()
        held = table.ledger.get(row.stream)
        if held is None:
            return None
        if held.storage == table.storage:
            is_empty = held.brought > 0 and not table.rows
            return (
                f"it is empty, and {held.brought} rows were written into it" if is_empty else None
            )
        if len(table.rows) < held.brought:
            return f"it holds {len(table.rows)} rows, and {held.brought} were written into it"
        return None

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on."""
        held = self._there().ledger.get(row.stream)
        if held is None or held.row.epoch >= epoch or held.row.binding != row.binding:
            return None
        if self.examine(row) is None:
            held.storage = self._there().storage
        held.row = replace(held.row, epoch=epoch, nonce=nonce)
        return held.row

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none."""
        return self._set_row(self._there(), old, new)

    def _set_row(self, table: Table, old: LedgerRow | None, new: LedgerRow) -> bool:
        held = table.ledger.get(new.stream)
        if (None if held is None else held.row) != old:
            return False
        brought = len(table.rows) if new.last_batch > NO_BATCH else 0
        table.ledger[new.stream] = SinkContents(new, brought, table.storage)
        return True

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Empty, exchange or keep the rows and set the ledger row, in one step."""
        table = self._there()
        if seen not in (None, self.table_version(new.stream)):
            raise CannotSettleError(self._sink.display_name, "Its rows have changed since.")
        obstacle = self.find_obstacle(new, output)
        if obstacle is not None:
            raise CannotSettleError(self._sink.display_name, obstacle)
        after = dataclasses.replace(
            table,
            ledger=dict(table.ledger),
            copies=dict(table.copies),
            opened=dict(table.opened),
        )
        mark, back = mark_of(new.stream, new.generation), 0
        match output:
            case EmptyOutput(kept=kept):
                self._take(after, kept, after.rows)
                after.storage += 1
            case RestoreOutput(kept=kept, aside=aside):
                self._take(after, aside, after.rows)
                back = self._put_back(after, kept, mark)
            case ExchangeOutput():
                own = after.own(mark_of(new.stream, output.generation))
                self._take(after, output.aside, own)
                back = self._put_back(after, output.kept, mark) if output.kept else 0
            case _:
                pass
        reached("settled")
        if not self._set_row(after, old, new):
            return False
        after.opened[mark] = Opened(back, after.ledger[new.stream].brought)
        vars(table).update(vars(after))
        return True

    def _take(self, table: Table, kept: str, rows: list[Row]) -> None:
        if kept in table.copies:
            raise CannotSettleError(self._sink.display_name, f"{kept} is there already.")
        table.copies[kept] = (table.columns, list(rows))
        taken = {id(row) for row in rows}
        table.rows = [row for row in table.rows if id(row) not in taken]
        table.changes += 1

    def _put_back(self, table: Table, kept: str, mark: str) -> int:
        """Put rows back as they were: no trigger fires."""
        _, rows = table.copies[kept]
        table.rows = [*table.rows, *({**row, "mark": mark} for row in rows)]
        table.changes += 1
        return len(rows)

    def since(self, stream: str, *, generation: int) -> Since:
        """Tell the rows of a generation from those of other writers, by their marks."""
        table, mark = self._there(), mark_of(stream, generation)
        held, opened = table.ledger.get(stream), table.opened.get(mark)
        if held is None or opened is None:
            return Since(unclear="how the generation was opened is not known")
        own = len(table.own(mark))
        if own != opened.put_back + held.brought - opened.brought:
            return Since(own_rows=own, unclear="another session has changed rows of it")
        others = len(table.rows) - own
        return Since(own_rows=own, others=(f"{others} rows are of others",) if others else ())

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why the table could not be settled."""
        table = self._there()
        if isinstance(output, KeepOutput):
            return None
        takes = not isinstance(output, ExchangeOutput) or output.rows != 0
        if takes and table.is_referenced:
            return "A foreign key refers to it."
        if isinstance(output, ExchangeOutput):
            since = self.since(new.stream, generation=output.generation)
            if since.unclear or since.own_rows != output.rows:
                return since.unclear or "Its rows have changed since."
        kept = None if isinstance(output, EmptyOutput) else output.kept
        return None if kept is None else self._find_misfit(new.stream, output, kept)

    def _find_misfit(self, stream: str, output: Output, kept: str) -> str | None:
        table = self._there()
        if kept not in table.copies:
            return f"The copy {kept} is gone."
        columns, rows = table.copies[kept]
        if not set(columns) <= set(table.columns):
            return "A column is gone."
        if not self._sink.keys or not isinstance(output, ExchangeOutput):
            return None
        own = mark_of(stream, output.generation)
        stays = {row["key"] for row in table.rows if row.get("mark") != own}
        return "A key is there twice." if any(row["key"] in stays for row in rows) else None

    def table_version(self, stream: str) -> str | None:
        """Return what tells the table's content apart."""
        del stream
        table = self.table
        return None if table is None else f"{table.storage} {len(table.rows)} {table.changes}"

    def count_rows(self) -> int | None:
        """Return how many rows the table has."""
        return None if self.table is None else len(self.table.rows)

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have a row for this table."""
        found = set() if self.table is None else set(self.table.ledger)
        return tuple(sorted(found - {stream}))

    def last_epoch(self, stream: str) -> int:
        """Return 0: the row has it."""
        del stream
        return 0

    def close(self) -> None:
        """Nothing is open."""
