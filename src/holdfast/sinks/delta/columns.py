"""The columns of a Delta table, compared with those that a stream brings.

Types are compared as Delta stores them. Delta makes every column and every nested value nullable
when it creates a table from a DataFrame, so nullability alone is no difference. It is one where the
table is stricter than the stream and Delta does not check it row by row: inside arrays and maps,
and for MERGE inside structs too, which Spark then refuses to plan.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.sinks.spark_columns import LENGTHS, find_stricter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

_CHAR = re.compile(r"(?<![a-z])char\(\d+\)")


class DeltaTableError(HoldfastError):
    """A Delta table does not take what the stream brings; no rows were written."""

    code = "DELTA_TABLE"

    def __init__(
        self,
        display_name: str,
        *,
        why: str,
        how: str,
        is_created: bool = False,
        problem: str = "does not take this stream",
    ) -> None:
        self.display_name = display_name
        written = (
            "this start has created it and has written no rows"
            if is_created
            else "nothing was written"
        )
        super().__init__(what=f"{display_name} {problem}; {written}.", why=why, how=how)


def check_columns(
    df: DataFrame, name: str, display_name: str, *, is_merging: bool, is_evolving: bool
) -> tuple[str, ...]:
    """Return the columns of the stream that the table has.

    Args:
        df: The stream.
        name: The table, as SQL names it.
        display_name: The table, as people know it.
        is_merging: Whether rows are merged by keys.
        is_evolving: Whether columns that the table lacks are added.

    Raises:
        DeltaTableError: The table would not hold the values as the stream brings them.
    """
    there = {field.name.lower(): field for field in df.sparkSession.table(name).schema}
    _check_required(df, name, display_name, there=there)
    for field in df.schema:
        found = there.get(field.name.lower())
        if found is not None:
            _check_type(field, found, name=name, display_name=display_name)
            _check_nulls(field, found, name=name, display_name=display_name, is_merging=is_merging)
        elif not is_evolving:
            kind = field.dataType.simpleString()
            raise DeltaTableError(
                display_name,
                why=f"It has no column {field.name} ({kind}).",
                how=f"ALTER TABLE {name} ADD COLUMNS ({field.name} {kind})",
            )
    return tuple(column for column in df.columns if column.lower() in there)


def _check_required(
    df: DataFrame, name: str, display_name: str, *, there: dict[str, StructField]
) -> None:
    brought = {column.lower() for column in df.columns}
    for field in there.values():
        if not field.nullable and field.name.lower() not in brought:
            raise DeltaTableError(
                display_name,
                why=f"Its column {field.name} must not be NULL, and the stream has no such one.",
                how=f"ALTER TABLE {name} ALTER COLUMN {field.name} DROP NOT NULL",
            )


def _check_type(field: StructField, found: StructField, *, name: str, display_name: str) -> None:
    """Refuse another type, and CHAR(n), which changes texts of another length."""
    mine, kept = field.dataType.simpleString(), found.dataType.simpleString()
    padded = _CHAR.search(str(found.metadata.get(LENGTHS, kept)))
    if padded is not None:
        column = f"Its column {field.name}"
        raise DeltaTableError(
            display_name,
            why=f"{column} has the type {padded[0]}, which pads shorter texts with spaces.",
            how=f"ALTER TABLE {name} ALTER COLUMN {field.name} TYPE STRING",
        )
    if mine != kept:
        raise DeltaTableError(
            display_name,
            why=f"Its column {field.name} is {kept}; the stream brings {mine}.",
            how=f"Cast it in the query: .withColumn({field.name!r}, col.cast({kept!r})).",
        )


def _check_nulls(
    field: StructField, found: StructField, *, name: str, display_name: str, is_merging: bool
) -> None:
    stricter = find_stricter(field.dataType, found.dataType, field.name, in_structs=is_merging)
    if stricter is not None:
        raise DeltaTableError(
            display_name,
            why=f"Its {stricter} must not be NULL, and in the stream it can be.",
            how=f"ALTER TABLE {name} ALTER COLUMN {stricter} DROP NOT NULL",
        )
