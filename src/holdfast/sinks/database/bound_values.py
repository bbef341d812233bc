"""Values as Python has them: what a driver binds one by one, and a hash of rows it has read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import pyarrow as pa

from holdfast.sinks.arrow_columns import Array, InexactError
from holdfast.sinks.database.target import Field, Row

_HASH_BITS = 64


def values_of(fields: Sequence[Field], batch: pa.RecordBatch) -> list[list[object]]:
    """Return the values of each column, as the driver takes them.

    Raises:
        InexactError: One cannot be written as it is.
    """
    found = []
    for place, field in enumerate(fields):
        column = batch.column(place)
        try:
            for check in field.checks:
                check(column)
            found.append(field.form(column))
        except ValueError as error:  # Arrow's are such too
            raise InexactError(place, str(error)) from error
    return found


def version_of(chunks: Iterable[list[Row]]) -> str:
    """Return how many rows there are, and a sum over all of them: the same in every process."""
    rows, total = 0, 0
    for chunk in chunks:
        rows += len(chunk)
        total += sum(map(_hash_of, chunk))
    return f"{rows} rows {total % (1 << _HASH_BITS):016x}"


def _hash_of(row: Row) -> int:
    return int.from_bytes(blake2b(repr(row).encode(), digest_size=8).digest(), "big")


def as_int(column: Array) -> list[object]:
    """Return whole numbers, and booleans as 0 and 1."""
    return list(column.cast(pa.int64()).to_pylist())


def as_float(column: Array) -> list[object]:
    """Return floats as the doubles that they are."""
    return list(column.cast(pa.float64()).to_pylist())


def as_is(column: Array) -> list[object]:
    """Return values as Arrow has them."""
    return list(column.to_pylist())
