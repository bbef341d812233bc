"""The columns of an Iceberg table, compared with those that a stream brings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot
from holdfast.sinks.iceberg.failures import IcebergTableError
from holdfast.sinks.spark_columns import find_stricter

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

_AS_ICEBERG = {"tinyint": "int", "smallint": "int"}
"""Types of Spark that Iceberg has not, and what holds all their values."""
_WIDER = {"int": ("long",), "float": ("double",)}
_UNKNOWN = ("char(", "varchar(", "interval", "void", "variant", "geometry", "geography")
"""Types that Iceberg has not, or that were not run."""


def check_columns(
    mine: StructType, there: StructType, *, name: str, display_name: str
) -> tuple[tuple[str, str], ...]:
    """Return the columns that the table has and the stream has not, with their types.

    Args:
        mine: Of the stream.
        there: Of the table.
        name: The table, as SQL names it.
        display_name: The table, as people know it.

    Raises:
        IcebergTableError: The table would not hold the values as the stream brings them.
    """
    known = {field.name: field for field in there}
    brought = {field.name for field in mine}
    for field in there:
        if field.name not in brought and not field.nullable:
            raise IcebergTableError(
                display_name,
                why=f"Its column {field.name} must not be NULL, and the stream has no such one.",
                how=f"ALTER TABLE {name} ALTER COLUMN {field.name} DROP NOT NULL",
            )
    for field in mine:
        found = known.get(field.name)
        if found is None:
            kind = field.dataType.simpleString()
            raise IcebergTableError(
                display_name,
                why=f"It has no column {field.name} ({kind}); names are compared with their case.",
                how=f"ALTER TABLE {name} ADD COLUMNS ({field.name} {kind})",
            )
        _check_type(field, found, name=name, display_name=display_name)
    return tuple(
        (field.name, field.dataType.simpleString()) for field in there if field.name not in brought
    )


def check_types(mine: StructType, display_name: str) -> None:
    """Refuse types that Iceberg has not, before a table is made of them.

    Raises:
        IcebergTableError: A column has one.
    """
    for field in mine:
        kind = field.dataType.simpleString()
        found = next((word.rstrip("(") for word in _UNKNOWN if word in kind), None)
        if found is not None:
            raise IcebergTableError(
                display_name,
                why=f"The stream's column {field.name} is {kind}, and {found} was not run here.",
                how="Cast it in the query, for example to string.",
            )


def _check_type(field: StructField, found: StructField, *, name: str, display_name: str) -> None:
    mine, kept = field.dataType.simpleString(), found.dataType.simpleString()
    if _AS_ICEBERG.get(mine, mine) != kept:
        raise IcebergTableError(
            display_name,
            why=f"Its column {field.name} is {kept}; the stream brings {mine}.",
            how=f"Cast it in the query: .withColumn({field.name!r}, col.cast({kept!r})).",
        )
    stricter = field.name if field.nullable > found.nullable else None
    if stricter is None and mine == kept:
        stricter = find_stricter(field.dataType, found.dataType, field.name, in_structs=True)
    if stricter is not None:
        raise IcebergTableError(
            display_name,
            why=f"Its {stricter} must not be NULL, and in the stream it can be.",
            how=f"ALTER TABLE {name} ALTER COLUMN {stricter} DROP NOT NULL",
        )


def find_unread(table: IcebergTable, snapshot: Snapshot, display_name: str) -> str | None:
    """Say which values of a snapshot the table would not show; None if it shows all."""
    then = table.schemas.get(-1 if snapshot.schema_id is None else snapshot.schema_id)
    now = table.schemas.get(table.schema_id)
    if then is None or now is None:
        return f"The columns of snapshot {snapshot.snapshot_id} of {display_name} are not known."
    there = {field.id: field for field in now.fields}
    for field in then.fields:
        if field.id not in there:
            return f"The column {field.name} of {display_name} is gone, and the kept rows have it."
        if not _holds(there[field.id].type, field.type):
            return f"The column {field.name} of {display_name} has another type than the kept rows."
    return None


def _holds(now: object, then: object) -> bool:
    same = json.dumps(now, sort_keys=True) == json.dumps(then, sort_keys=True)
    return same or (isinstance(then, str) and now in _WIDER.get(then, ()))
