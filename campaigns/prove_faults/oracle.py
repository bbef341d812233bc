"""Which rows of a table are not as they were written, found without Spark and without Holdfast.

PostgreSQL is asked itself: whether the text of each value is the text of the value that was sent.
Delta's files are found in its log and read by pyarrow, and every value is compared bit by bit.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.prove_faults.columns import Column


def altered_in_postgres(dsn: str, table: str, columns: tuple[Column, ...]) -> set[int]:
    """Return the ids of the rows whose values are not those that were written."""
    same = " AND ".join(
        f'"{each.name}"::text IS NOT DISTINCT FROM (({each.written})::{each.target})::text'
        for each in columns
    )
    with psycopg.connect(dsn) as connection:
        connection.execute("SET timezone TO 'UTC'")
        found = connection.execute(f"SELECT id FROM {table} WHERE NOT ({same})".encode())  # noqa: S608
        return {number for (number,) in found}


def altered_in_delta(table: Path, columns: tuple[Column, ...]) -> set[int]:
    """Return the ids of the rows whose values are not those that were written."""
    wanted = {each.name: bits(_of_arrow(each)) for each in columns}
    found = set()
    for row in read_delta(table):
        if any(bits(row[name]) != value for name, value in wanted.items()):
            found.add(row["id"])
    return found


def read_delta(table: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Delta table, from the files that its log names."""
    files: dict[str, None] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                files[action["add"]["path"]] = None
                assert "deletionVector" not in action["add"]
            if "remove" in action:
                files.pop(action["remove"]["path"], None)
    for name in files:
        yield from _plain(pq.read_table(table / unquote(name))).to_pylist()


def _of_arrow(column: Column) -> Any:
    values = pa.table({"value": pa.array([column.value], column.arrow)})
    (row,) = _plain(values).to_pylist()
    return row["value"]


def _plain(table: Any) -> Any:
    """Return a table with dates and times as numbers: Python has none of the year 10000."""
    kinds = {pa.types.is_date: pa.int32(), pa.types.is_timestamp: pa.int64()}
    for number, field in enumerate(table.schema):
        to = next((kind for fits, kind in kinds.items() if fits(field.type)), None)
        if to is not None:
            stamps = table.column(number)
            if pa.types.is_timestamp(field.type):
                stamps = stamps.cast(pa.timestamp("us", field.type.tz))
            table = table.set_column(number, field.name, stamps.cast(to))
    return table


def bits(value: Any) -> Any:
    """Return what is different for any two values that are not the same, bit by bit."""
    match value:
        case float():
            return "nan" if value != value else struct.pack(">d", value)  # noqa: PLR0124
        case Decimal():
            return str(value)
        case dict():
            return tuple((key, bits(each)) for key, each in value.items())
        case list():
            pairs = (bits(each) for each in value)
            return (*pairs, "end")
        case tuple():
            return tuple(bits(each) for each in value)
        case _:
            return (type(value).__name__, value)
