"""Rows to MariaDB and MySQL: LOAD DATA LOCAL fed from memory, or INSERT with many rows.

Arrow writes the text of all rows at once; no Python runs per row. The driver's own placeholders
take three times as long.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from threading import Thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.arrow_columns import Array, InexactError, payload_of
from holdfast.sinks.database.target import Field, Target

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect

STATEMENT_BYTES = 1 << 20
"""How long an INSERT gets; servers take 16 MiB and more unless they were set to less."""


class ChangedRowsError(Exception):
    """The server has taken rows with warnings: it has changed or left out something."""

    def __init__(self, warnings: int) -> None:
        super().__init__(f"{warnings} warnings")
        self.warnings = warnings


def send(
    dialect: Dialect, connection: Connection, batch: pa.RecordBatch, *, target: Target, into: str
) -> int:
    """Write the rows of a record batch; return how many the server has taken.

    Raises:
        InexactError: A value cannot be written as it is.
        ChangedRowsError: The server has warned.
    """
    if batch.num_rows == 0:
        return 0
    texts = [_encode(place, field, batch) for place, field in enumerate(target.fields)]
    columns = [dialect.quote(each) for each in target.columns]
    if loads(connection):
        return _load(connection, into, columns, target=target, texts=texts)
    start = f"INSERT INTO {into} ({', '.join(columns)}) VALUES ".encode()  # noqa: S608 - quoted
    literals = [_literal(field, text) for field, text in zip(target.fields, texts, strict=True)]
    rows = pc.binary_join_element_wise("(", pc.binary_join_element_wise(*literals, ","), "),", "")
    return sum(_take(connection, start + part) for part in split(rows, STATEMENT_BYTES))


def loads(connection: Connection) -> bool:
    """Return whether both sides allow LOAD DATA LOCAL; asked once per connection."""
    known = getattr(connection, "holdfast_loads", None)
    if known is None:
        known = False
        if connection._local_infile:  # noqa: SLF001 - what the URL said
            with connection.cursor() as cursor:
                cursor.execute("SELECT @@local_infile")
                known = bool(cursor.fetchone()[0])
        connection.holdfast_loads = known
    return bool(known)


def _encode(place: int, field: Field, batch: pa.RecordBatch) -> Array:
    column = batch.column(place)
    try:
        for check in field.checks:
            check(column)
        return field.form(column)
    except ValueError as error:  # Arrow's are such too
        raise InexactError(place, str(error)) from error


def _literal(field: Field, text: Array) -> Array:
    start, end = ("X'", "'") if field.is_hex else ("'", "'") if field.is_quoted else ("", "")
    if start:
        text = pc.binary_join_element_wise(start, text, end, "")
    return text.fill_null("NULL")


def split(rows: Array, size: int) -> Iterator[bytes]:
    """Yield rows as bytes, about so many at a time, each time without the comma at their end."""
    offsets = memoryview(rows.buffers()[1]).cast("i")[rows.offset : rows.offset + len(rows) + 1]
    at = 0
    while at < len(rows):
        end = max(at + 1, bisect_right(offsets, offsets[at] + size) - 1)
        yield bytes(payload_of(rows.slice(at, end - at)))[:-1]
        at = end


def _take(connection: Connection, statement: object) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        if cursor.warning_count:
            raise ChangedRowsError(cursor.warning_count)
        return int(cursor.rowcount)


def _load(
    connection: Connection, into: str, columns: list[str], *, target: Target, texts: list[Array]
) -> int:
    """Feed LOAD DATA from a pipe. With LOCAL the server warns where it would refuse otherwise."""
    fields = [text.fill_null("\\N") for text in texts]
    rows = pc.binary_join_element_wise(pc.binary_join_element_wise(*fields, "\t"), "\n", "")
    names = [f"@c{at}" if each.is_hex else columns[at] for at, each in enumerate(target.fields)]
    set_hex = [f"{columns[at]} = UNHEX(@c{at})" for at, e in enumerate(target.fields) if e.is_hex]
    reader, writer = os.pipe()
    feeder = Thread(target=_feed, args=(writer, payload_of(rows)), daemon=True)
    feeder.start()
    try:
        return _take(
            connection,
            f"LOAD DATA LOCAL INFILE '/dev/fd/{reader}' INTO TABLE {into} CHARACTER SET utf8mb4"
            " FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'"
            f" ({', '.join(names)}){' SET ' * bool(set_hex)}{', '.join(set_hex)}",
        )
    finally:
        os.close(reader)  # whoever still writes is told
        feeder.join()


def _feed(writer: int, data: memoryview) -> None:
    try:
        with open(writer, "wb", buffering=0) as pipe:
            while data:
                data = data[pipe.write(data) :]
    except BrokenPipeError:
        return
