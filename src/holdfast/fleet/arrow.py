"""Rows as Arrow: for Parquet files and for Spark. Needs pyarrow, so import it where it is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from types import NoneType
from typing import get_args, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.fleet.rows import FleetRow, parse_row, to_record

BATCH_ROWS = 1_000
_KINDS = {
    bool: ("boolean", pa.bool_()),
    int: ("bigint", pa.int64()),
    float: ("double", pa.float64()),
}


def _kind(hint: object) -> tuple[str, pa.DataType]:
    """Return a field's type in Spark and in Arrow."""
    parts = [each for each in get_args(hint) if each not in {NoneType, Ellipsis}]
    if isinstance(hint, type) or not parts:
        return next((_KINDS[each] for each in _KINDS if hint is each), ("string", pa.string()))
    if getattr(hint, "__origin__", None) is tuple:
        return "array<string>", pa.list_(pa.string())
    return _kind(parts[0])


_COLUMNS = {
    name: _kind(hint)
    for name, hint in get_type_hints(FleetRow).items()
    if name in FleetRow.__struct_fields__
}
SCHEMA = pa.schema([(name, kind) for name, (_, kind) in _COLUMNS.items()])
DDL = ", ".join(f"{name} {kind}" for name, (kind, _) in _COLUMNS.items())
"""The same columns in Spark's words."""


def to_batches(rows: Iterable[FleetRow], *, size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches, as they arrive."""
    waiting = iter(rows)
    while some := list(islice(waiting, size)):
        yield pa.RecordBatch.from_pylist([to_record(row) for row in some], schema=SCHEMA)


def write_parquet(path: str, rows: Iterable[FleetRow]) -> Iterator[FleetRow]:
    """Write rows to a Parquet file while they pass by."""
    with pq.ParquetWriter(path, SCHEMA) as writer:
        waiting = iter(rows)
        while some := list(islice(waiting, BATCH_ROWS)):
            for batch in to_batches(some):
                writer.write_batch(batch)
            yield from some


def read_parquet(path: str) -> Iterator[FleetRow | None]:
    """Yield the rows of a Parquet file; None for what is no row.

    Raises:
        OSError: The file cannot be read.
        pyarrow.ArrowInvalid: It is no Parquet file; a ValueError too.
    """
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS):
            yield from map(parse_row, batch.to_pylist())
