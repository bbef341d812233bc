"""Where a built-in stream writes to, read without Spark: rows and ledger in one snapshot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import msgspec

from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.drills.builtin.workload import Shape
from holdfast.drills.drill import Seen
from holdfast.sinks.user.ledger import UserLedgerStore
from holdfast.sinks.user.sink import Sink
from holdfast.storage.open import open_reader

DSN_NAME = "HOLDFAST_DRILL_DSN"
"""The variable that has the scratch database's DSN, for the driver."""


class ScratchSink(Protocol):
    """A sink of a built-in stream, in a scratch place of its own."""

    @property
    def kind(self) -> str:
        """As the program and the history call it."""

    def prepare(self) -> None:
        """Make what must be there before the first start."""

    def config(self) -> Mapping[str, str]:
        """Return what the program is told of it."""

    def look(self) -> Iterator[Seen]:
        """Read rows and ledger, in one snapshot."""

    def clean(self) -> None:
        """Take away what is outside the drill's directory."""


@dataclass(frozen=True, kw_only=True)
class ScratchDelta:
    """A Delta table in the drill's directory."""

    home: Path
    shape: Shape
    kind: str = "delta"

    @cached_property
    def _table(self) -> DeltaTable:
        return DeltaTable(open_reader(str(self.home / "table")))

    def prepare(self) -> None:
        """Nothing: the sink makes its table."""

    def config(self) -> Mapping[str, str]:
        """Return where the table is."""
        return {"kind": self.kind, "table": str(self.home / "table")}

    def look(self) -> Iterator[Seen]:
        """Read the newest snapshot of the log, and its files."""
        snapshot = self._table.read()
        parts = parts_told(snapshot.end_offsets, self.shape)
        yield Seen(sink=self.kind, parts=parts, rows=snapshot.rows)

    def clean(self) -> None:
        """Nothing is outside."""


@dataclass(frozen=True, kw_only=True)
class ScratchPostgres:
    """A table of its own in a scratch database."""

    dsn: str = field(repr=False)
    table: str
    shape: Shape
    kind: str = "postgres"

    def scratch_database(self) -> str:
        """Return the DSN; an error of the connection names this function, and not the DSN."""
        return self.dsn

    def prepare(self) -> None:
        """Make the table."""
        from holdfast.sinks.postgres.connect import connect

        with connect(self.scratch_database) as connection:
            connection.execute(f"CREATE TABLE {self.table} ({self.shape.columns})".encode())

    def config(self) -> Mapping[str, str]:
        """Return what the table is called; the database is in the environment."""
        return {"kind": self.kind, "table": self.table}

    def look(self) -> Iterator[Seen]:
        """Read table and ledger row in one snapshot."""
        from holdfast.sinks.postgres.connect import connect

        with connect(self.scratch_database) as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            query = f"SELECT * FROM {self.table}"  # noqa: S608 - a name of ours
            rows = connection.execute(query.encode()).fetchall()
            yield Seen(sink=self.kind, parts=self._parts(connection), rows=rows)

    def _parts(self, connection: Any) -> int:
        query = "SELECT end_offsets FROM holdfast.ledger WHERE sink = %s"
        found = None
        if _has_ledger(connection):
            found = connection.execute(query, [self.table]).fetchone()
        return parts_told(found[0], self.shape) if found else 0

    def clean(self) -> None:
        """Drop the table, and what the ledger has of it, if it ever came so far."""
        from holdfast.sinks.postgres.connect import connect

        with connect(self.scratch_database) as connection:
            connection.execute(f"DROP TABLE {self.table}".encode())
            if _has_ledger(connection):
                for kept in ("ledger", "history"):
                    query = f"DELETE FROM holdfast.{kept} WHERE sink = %s"  # noqa: S608 - ours
                    connection.execute(query.encode(), [self.table])


class ScratchUserSink(msgspec.Struct, frozen=True, kw_only=True):
    """A sink of a user's own, in the drill's directory."""

    home: Path
    shape: Shape
    sink: type[Sink]
    stream: str

    @property
    def kind(self) -> str:
        """Its kind, as it is registered."""
        return self.sink.kind

    def prepare(self) -> None:
        """Nothing: the sink creates what it needs."""

    def config(self) -> Mapping[str, str]:
        """Return where the sink is."""
        return {"kind": self.kind, "table": str(self.home)}

    def look(self) -> Iterator[Seen]:
        """Read rows and ledger in one transaction."""
        sink = self.sink.for_drill(self.home)
        assert sink is not None
        if not sink.exists():
            yield Seen(sink=self.kind, parts=0, rows=[])
            return
        ledger = UserLedgerStore(sink)
        try:
            with ledger.transaction():
                row = ledger.row_in(self.stream)
                rows = sink.read_back(ledger.connection()) if row is not None else []
        finally:
            ledger.close()
        parts = parts_told(row.end_offsets, self.shape) if row is not None else 0
        yield Seen(sink=self.kind, parts=parts, rows=rows)

    def clean(self) -> None:
        """Nothing is outside."""


def _has_ledger(connection: Any) -> bool:
    (there,) = connection.execute("SELECT to_regclass('holdfast.ledger') IS NOT NULL").fetchone()
    return bool(there)


def parts_told(end_offsets: str, shape: Shape) -> int:
    """Return how many files end offsets tell of: a batch may have had several."""
    ended = json.loads(end_offsets or "{}")
    read = [int(ended[source]["logOffset"]) + 1 for source in sorted(ended)]
    return shape.parts(read) if read else 0
