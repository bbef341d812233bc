"""Reads all rows of a PostgreSQL table in one snapshot: in the driver, or in one task of Spark.

Values come exactly: times as PostgreSQL's own microseconds, whatever the client can show of them;
integers and floats as the widest type, so that a value the stream could not have brought is seen.
The task needs pyarrow, psycopg and Holdfast itself on the executors, and the DSN where it says.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.sinks.postgres.target import quote

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.secrets import Secret

ROWS_AT_ONCE = 10_000
_EPOCH_DAYS = 10_957
_EPOCH_US = _EPOCH_DAYS * 86_400_000_000
_DIGITS = 38
_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]+")
_AS_TEXT = ("text", "varchar", "name", "citext", "json", "uuid", "numeric", "timestamp")
_SENT = {"timestamptz": (_EPOCH_US, 64), "date": (_EPOCH_DAYS, 32)}
"""Types that are read as the number that PostgreSQL keeps, counted from 2000, and its bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadColumn:
    """One column of a table, and how it is read."""

    name: str
    kind: str
    """PostgreSQL's own name of the type: `int8`, `_text` for an array of it."""
    scale: int | None = None
    """Of a decimal column of the stream; None for others."""

    @property
    def selected(self) -> str:
        """The expression that reads it."""
        name = quote(self.name)
        if self.kind in _SENT:
            return f"{self.kind}_send({name})"
        return f"{name}::text" if self.kind in _AS_TEXT else name

    def value(self, read: Any) -> Any:
        """Return a value as the stream's column has it, from what was read."""
        if read is None:
            return None
        if self.kind in _SENT:
            offset, bits = _SENT[self.kind]
            return _within(int.from_bytes(read, "big", signed=True) + offset, bits)
        return read if self.scale is None else _exact(read, self.scale)


def read_rows(
    connection: psycopg.Connection[Any], table: str, columns: tuple[ReadColumn, ...]
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a table, many at a time; to be called inside a transaction."""
    connection.execute("SET LOCAL datestyle TO 'ISO'")
    selected = ", ".join(column.selected for column in columns)
    with connection.cursor(name="holdfast_proof") as cursor:
        cursor.execute(f"SELECT {selected} FROM {table}".encode())  # noqa: S608 - quoted
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield [
                tuple(column.value(read) for column, read in zip(columns, row, strict=True))
                for row in rows
            ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTask:
    """What a task needs to read a table; sent to the executor."""

    dsn: Secret
    table: str
    """Quoted, with its schema."""
    columns: tuple[ReadColumn, ...]
    snapshot: str
    """As `pg_export_snapshot()` names it."""
    schema: Any
    """Of Arrow, with the types that the values get."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the rows of the table, once for every row that comes."""
        for batch in batches:
            for _ in range(batch.num_rows):
                yield from self._read()

    def _read(self) -> Iterator[Any]:
        import pyarrow as pa

        from holdfast.sinks.postgres.connect import connect

        assert _SNAPSHOT.fullmatch(self.snapshot)
        with connect(self.dsn) as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(f"SET TRANSACTION SNAPSHOT '{self.snapshot}'".encode())
            for rows in read_rows(connection, self.table, self.columns):
                pairs = zip(zip(*rows, strict=True), self.schema.types, strict=True)
                arrays = [pa.array(list(values), kind) for values, kind in pairs]
                yield pa.RecordBatch.from_arrays(arrays, names=self.schema.names)


def _within(number: int, bits: int) -> int:
    """Return a number; of an infinity, which is the farthest one, the farthest that fits."""
    most = 1 << bits - 1
    return max(min(number, most - 1), -most)


def _exact(text: str, scale: int) -> decimal.Decimal:
    """Return a number at a scale; one that does not fit becomes one that no stream brings."""
    with decimal.localcontext(prec=2_000) as context:
        number = decimal.Decimal(text)
        if number.is_finite():
            scaled = number.quantize(decimal.Decimal(1).scaleb(-scale, context))
            if scaled == number and len(scaled.as_tuple().digits) <= _DIGITS:
                return scaled
        return decimal.Decimal(10**_DIGITS - 1).scaleb(-scale, context)
