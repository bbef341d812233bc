"""The rows of a table and its ledger row, as of one moment of the database."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast.sinks.collect import memory_of
from holdfast.sinks.contents import BEYOND, SinkContents, newest_by_key, nullable
from holdfast.sinks.database import ledger_rows
from holdfast.sinks.database.failures import TableTooLargeError
from holdfast.sinks.database.ledger import DatabaseLedgerStore
from holdfast.sinks.database.target import Row, Target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, DecimalType

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.database.sink import Database

T = TypeVar("T")
_WIDE = Context(prec=76)
"""Twice the digits of Spark's widest decimal: nothing is rounded on the way."""
_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


@contextmanager
def open_contents(sink: Database, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give what a table holds; nothing is written.

    Args:
        sink: The table.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        HoldfastError: The table does not have these columns, or the database cannot be used.
    """
    from holdfast.sinks.arrow_columns import find_schema
    from holdfast.sinks.database.table import check_table

    schema = find_schema(df, sink.table)
    ledger = DatabaseLedgerStore(sink)
    session = ledger.session
    try:
        with session.naming_refusals():
            dialect, connection = session.dialect, session.connection()
            ledger.find_label(stream)
            has_ledger = ledger_rows.has_table(dialect, connection)
            with dialect.transaction(connection, is_reading=True):
                # Without an index over its keys it is read all the same.
                target = check_table(dialect, sink, schema, found=ledger.find(), is_merged=False)
                row = ledger.kept(stream) if has_ledger else None
                rows = _Rows(ledger=ledger, df=df, target=target).read()
            yield SinkContents(
                row=None if row is None else row.row,
                rows=rows,
                newest=lambda given: _newest(given, target),
                comparable=_comparable,
                ties=_ties(target),
                row_of=lambda name: _row_of(ledger, name) if has_ledger else None,
                others=ledger.other_streams(stream),
            )
    finally:
        ledger.close()


def _row_of(ledger: DatabaseLedgerStore, stream: str) -> LedgerRow | None:
    ledger.find_label(stream)
    kept = ledger.kept(stream)
    return None if kept is None else kept.row


def _comparable(given: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return given.withColumn(BEYOND, F.lit(None).cast("string"))


def _newest(given: DataFrame, target: Target) -> DataFrame:
    if not target.keys or target.sequence_by is None:
        return given
    return newest_by_key(given, target.keys, target.sequence_by, columns=target.columns)


def _ties(target: Target) -> str:
    """Say why of rows with one key and one order value another one can be kept; empty if none."""
    other = next((each.name for each in target.fields if each.other_order), None)
    if not target.keys or other is None:
        return ""
    return f"rows of one key and one order value are ordered by the database's order of {other}"


class _Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Reads the rows of one table as a DataFrame."""

    ledger: DatabaseLedgerStore
    df: DataFrame
    """The stream."""
    target: Target

    def read(self) -> DataFrame:
        """Return all rows, within the transaction there is."""
        spark, dialect = self.df.sparkSession, self.ledger.session.dialect
        wanted = nullable(_comparable(spark.createDataFrame([], self.df.schema)).schema)
        selected = ", ".join(map(dialect.selected, self.target.shape))
        statement = f"SELECT {selected} FROM {self.target.name}"  # noqa: S608 - quoted
        kinds = [each.dataType for each in self.df.schema]
        rows = spark.createDataFrame([], wanted)
        chunks = dialect.rows(self.ledger.session.connection(), statement)
        shown, most = self.target.display_name, memory_of(spark)
        for chunk in bounded(chunks, most=most, shown=shown):
            values = [self._row(row, kinds) for row in chunk]
            rows = rows.union(spark.createDataFrame(values, wanted, verifySchema=False))
        return rows

    def _row(self, row: Row, kinds: list[DataType]) -> Row:
        values, beyond = list[object](), dict[str, str]()
        for name, value, kind in zip(self.target.columns, row, kinds, strict=True):
            given = decode(value, kind)
            if given is None and value is not None:
                beyond[name] = str(value)
            values.append(given)
        return (*values, json.dumps(beyond, sort_keys=True) if beyond else None)


def bounded(chunks: Iterator[list[Row]], *, most: int, shown: str) -> Iterator[list[Row]]:
    """Yield rows as long as their values have no more bytes than the driver may hold.

    Raises:
        TableTooLargeError: They have.
    """
    size = 0
    for chunk in chunks:
        size += sum(len(x) if isinstance(x, str | bytes) else 8 for row in chunk for x in row)
        if size > most:
            raise TableTooLargeError(shown, most=most)
        yield chunk


def decode(value: object, kind: DataType) -> object:
    """Return a value that was read, as Spark takes it; None if the stream cannot have brought it.

    Args:
        value: As the driver has read it.
        kind: The type of the stream's column.
    """
    name = kind.typeName()
    try:
        if name in _BITS:
            return _whole(value, _BITS[name])
        return _DECODED[name](value, kind)
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return None


def _whole(value: object, bits: int) -> int | None:
    """Return a whole number that fits; Oracle's drivers read each as a decimal."""
    if not isinstance(value, int | Decimal) or value % 1 != 0:
        return None
    number = int(value)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def _is_a(value: object, kind: type[T]) -> T | None:
    return value if isinstance(value, kind) else None


def _decimal(value: object, kind: DecimalType) -> Decimal | None:
    number = Decimal(value) if isinstance(value, str) else _is_a(value, Decimal)
    if number is None or not number.is_finite():
        return None
    exact = number.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
    fits = exact == number and len(exact.as_tuple().digits) <= kind.precision
    return exact if fits else None


def _day(value: object, _: object) -> date | None:
    return date.fromisoformat(value) if isinstance(value, str) else _is_a(value, date)


def _time(value: object, _: object) -> datetime | None:
    found = datetime.fromisoformat(value) if isinstance(value, str) else _is_a(value, datetime)
    return found if found is None or found.tzinfo is None else None


def _instant(value: object, _: object) -> datetime | None:
    found = datetime.fromisoformat(value) if isinstance(value, str) else _is_a(value, datetime)
    if found is None or (isinstance(value, str) and found.tzinfo is None):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _float(value: object, _: object) -> float | None:
    found = _is_a(value, float)
    if found is None:
        return None
    (nearest,) = struct.unpack("f", struct.pack("f", found))
    return found if nearest == found else None


_DECODED: dict[str, Callable[..., object]] = {
    "boolean": lambda value, _: bool(value) if value in (0, 1) else None,
    "float": _float,
    "double": lambda value, _: _is_a(value, float),
    "decimal": _decimal,
    "string": lambda value, _: _is_a(value, str),
    "binary": lambda value, _: _is_a(value, bytes),
    "date": _day,
    "timestamp": _instant,
    "timestamp_ntz": _time,
}
