"""Reads all rows of a PostgreSQL table in one snapshot: in the driver, or in one task of Spark.

Values come exactly, in PostgreSQL's binary form, whatever the client can show of them. Integers and
floats come as the widest type, so that a value the stream could not have brought is seen.
The task needs pyarrow, psycopg and Holdfast itself on the executors, and the DSN where it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.sinks.postgres.decode import Beyond, Decode, find_decoder
from holdfast.sinks.postgres.target import quote

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

    from holdfast.sinks.secrets import Secret

ROWS_AT_ONCE = 10_000
_SNAPSHOT = re.compile(r"[0-9A-Fa-f-]+")
_AS_TEXT = ("text", "varchar", "name", "citext", "json")
_AS_THEY_ARE = ("bool", "int2", "int4", "int8", "float4", "float8", "bytea")
"""Types whose binary values psycopg reads exactly."""
_SENT_BY = {
    "bpchar": "bpcharsend",
    **{kind: f"{kind}_send" for kind in ("numeric", "date", "timestamp", "timestamptz")},
    **{kind: f"{kind}_send" for kind in ("uuid", "jsonb")},
}


class ReadColumn(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a table, and how it is read."""

    name: str
    kind: str
    """PostgreSQL's own name of the type: `int8`, `_text` for an array of it."""
    scale: int | None = None
    """Of a decimal column of the stream, or of its elements; None for others."""

    @property
    def selected(self) -> str:
        """The expression that reads it."""
        name = quote(self.name)
        if self.kind in _AS_TEXT:
            return f"{name}::text"
        if self.kind in _AS_THEY_ARE:
            return name
        return f"pg_catalog.{_SENT_BY.get(self.kind, 'array_send')}({name})"

    @property
    def decode(self) -> Decode:
        """What makes a value of the stream's column from what was read."""
        if self.kind in _AS_TEXT or self.kind in _AS_THEY_ARE:
            return lambda read: read
        return find_decoder(self.kind, scale=self.scale)


def read_rows(
    connection: psycopg.Connection, table: str, columns: tuple[ReadColumn, ...]
) -> Iterator[list[tuple[object, ...]]]:
    """Yield the rows of a table, many at a time; to be called inside a transaction.

    Each row has one more value, that of `sinks.contents.BEYOND`.
    """
    connection.execute("SET LOCAL client_encoding TO 'UTF8'")
    # Rows that a policy hides would be taken for lost ones: then PostgreSQL refuses instead.
    connection.execute("SET LOCAL row_security TO off")
    selected = ", ".join(column.selected for column in columns)
    decoders = [column.decode for column in columns]
    with connection.cursor(name="holdfast_proof", binary=True) as cursor:
        cursor.execute(f"SELECT {selected} FROM {table}".encode())  # noqa: S608 - quoted
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield [_values(columns, decoders, row) for row in rows]


def _values(
    columns: tuple[ReadColumn, ...], decoders: list[Decode], row: tuple[Any, ...]
) -> tuple[object, ...]:
    values = [
        None if read is None else decode(read) for decode, read in zip(decoders, row, strict=True)
    ]
    beyond = {
        column.name: value.display_name
        for column, value in zip(columns, values, strict=True)
        if isinstance(value, Beyond)
    }
    if not beyond:
        return (*values, None)
    kept = (None if isinstance(value, Beyond) else value for value in values)
    return (*kept, json.dumps(beyond, sort_keys=True))


class ReadTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a task needs to read a table; sent to the executor."""

    dsn: Secret
    table: str
    """Quoted, with its schema."""
    columns: tuple[ReadColumn, ...]
    snapshot: str
    """As `pg_export_snapshot()` names it."""
    schema: pa.Schema
    """Of Arrow, with the types that the values get."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the table, once for every row that comes."""
        for batch in batches:
            for _ in range(batch.num_rows):
                yield from self._read()

    def _read(self) -> Iterator[pa.RecordBatch]:
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
