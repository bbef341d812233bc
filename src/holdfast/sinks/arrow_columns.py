"""The columns of a batch, as Arrow brings them to a database.

Executors use it too: with the standard library and pyarrow alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.sinks.failures import TableError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Array = Any
"""A `pyarrow.Array`, which has no types of its own."""


class InexactError(ValueError):
    """A column holds a value that the database would change, or has no form for."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        """Which of the columns, from 0."""


def find_schema(df: DataFrame, table: str) -> pa.Schema:
    """Return the Arrow schema in which the rows of a Spark DataFrame come.

    Raises:
        TableError: A column's type has no form in Arrow.
    """
    from pyspark.errors import PySparkException

    from holdfast.spark.arrow import arrow_schema

    try:
        return arrow_schema(df)
    except PySparkException as error:
        raise TableError(
            table,
            why=f"A column of the stream cannot be sent to a database: {error}",
            sql="-- cast it to another type",
        ) from error


def payload_of(values: Array) -> memoryview:
    """Return the bytes of all values of a binary array, one after the other."""
    offsets = memoryview(values.buffers()[1]).cast("i")
    first, last = offsets[values.offset], offsets[values.offset + len(values)]
    return memoryview(values.buffers()[2])[first:last]
