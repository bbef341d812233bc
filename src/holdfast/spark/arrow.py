"""Spark's types as Arrow's, in the same way on every supported version of PySpark."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

RecordBatch = Any
"""A `pyarrow.RecordBatch`; pyarrow has no types."""
Order = list[int]
"""One number per record batch, sent after the last one: its position in the order of partitions."""


class ServedError(Exception):
    """Spark ended the data with an error instead of the order of its record batches."""


class ArrowJob(Protocol):
    """A Spark job that computes a DataFrame and serves its rows to this process."""

    def messages(self) -> Generator[RecordBatch | Order]:
        """Yield each record batch when it arrives, then the order of all of them.

        The order is no proof that the data is complete: see `wait`. The connection is closed when
        the iterator is exhausted or closed.

        Raises:
            ServedError: Spark sent an error.
            EOFError, OSError, ValueError: The connection was cut.
        """

    def wait(self) -> None:
        """Wait until Spark has finished the job.

        If a task fails, Spark can end the stream as if the data were complete. Only this says so.

        Raises:
            PySparkException, Py4JJavaError: The job failed.
        """


def arrow_schema(df: DataFrame) -> pa.Schema:
    """Return the Arrow schema of a DataFrame's rows, with timestamps in UTC.

    Raises:
        PySparkException: Arrow has no equivalent of a column's type.
    """
    return arrow_schema_of(df.schema)


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of rows with these columns, with timestamps in UTC.

    Raises:
        PySparkException: Arrow has no equivalent of a column's type.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    in_utc: dict[str, Any] = {}
    # It takes a time zone only from 4.2 on; before that it always uses UTC.
    if "timezone" in inspect.signature(to_arrow_schema).parameters:
        in_utc = {"timezone": "UTC"}
    return to_arrow_schema(schema, **in_utc)


def spark_type(kind: pa.DataType) -> str:
    """Return the name that Spark has for an Arrow type: `bigint` for int64."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind).simpleString()
