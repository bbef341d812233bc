"""One stream into an Iceberg table, batch by batch, and what other people do to the table."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import holdfast as hf
from holdfast.errors import HoldfastError
from holdfast.ledger import Apply, LedgerRow, Refuse, Skip
from holdfast.sinks.iceberg.ledger import IcebergLedgerStore
from holdfast.sinks.iceberg.writer import IcebergWriter
from holdfast.testing.sink_batches import STREAM, Batches


class Stream:
    """A stream of batches of two rows each, with the session of a driver."""

    def __init__(self, spark: Any, table: str, **options: Any) -> None:
        """Open the ledger, or go on where another start was."""
        self.spark = spark
        self.table = table
        self.sink = hf.Iceberg(table=table, **options)
        self.batches = Batches(spark)
        self.writer: Any = self.batches.start(self.sink)
        assert isinstance(self.writer, IcebergWriter)
        self.row: LedgerRow = self.batches.row(self.writer)

    @property
    def ledger(self) -> IcebergLedgerStore:
        """Its ledger."""
        found: IcebergLedgerStore = self.writer.ledger
        return found

    def open(self, batches: int = 0) -> Stream:
        """Open the ledger row, and write so many batches."""
        assert self.ledger.replace(None, self.row)
        for number in range(batches):
            assert self.write(number) == Apply()
        return self

    def rows(self, number: int) -> list[tuple[int, str]]:
        """Return what a batch brings."""
        return [(2 * number, "even"), (2 * number + 1, "odd")]

    def write(self, number: int, rows: Any = None, **changes: Any) -> Apply | Skip | Refuse:
        """Write a batch; what is refused otherwise is raised."""
        attempt = replace(self.batches.attempt(self.writer, number), **changes)
        frame = self.batches.frame(self.rows(number) if rows is None else rows)
        found: Apply | Skip | Refuse = self.writer.write(attempt, frame)
        return found

    def refusal(self, number: int) -> str:
        """Return why a batch is not taken; empty when it is."""
        try:
            decision = self.write(number)
        except HoldfastError as error:
            return f"{error.code}: {error.why}"
        return decision.reason.name if isinstance(decision, Refuse) else ""

    def examine(self) -> str | None:
        """Say what a start would find."""
        row = self.ledger.read(STREAM)
        assert isinstance(row, LedgerRow)
        return self.ledger.examine(row)

    def call(self, statement: str, **names: Any) -> Any:
        """Run a statement of SQL, in which `{table}` and `{short}` are the table."""
        short = self.table.partition(".")[2]
        return self.spark.sql(statement.format(table=self.table, short=short, **names)).collect()

    def snapshots(self) -> list[int]:
        """Return the snapshots of `main`, the oldest first."""
        found = self.call("SELECT snapshot_id FROM {table}.history ORDER BY made_current_at")
        return [row[0] for row in found]

    def holds(self, *expected: tuple[int, str | None], batches: int = 0) -> None:
        """See that the table holds exactly these rows beside those of the first batches."""
        self.spark.catalog.refreshTable(self.table)
        wanted = [*expected, *(row for number in range(batches) for row in self.rows(number))]
        found = [tuple(row) for row in self.spark.table(self.table).collect()]
        assert Counter(found) == Counter(wanted)
