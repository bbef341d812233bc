"""Parquet that gives back what was written, whatever the user's session is set to.

Some settings of Spark change values on their way through Parquet, or make readers skip files:
`outputTimestampType=TIMESTAMP_MILLIS` cuts microseconds, `ignoreCorruptFiles` leaves out rows.
Where Spark has an option of the reader or the writer, it is given. The rest are settings: they are
set for one write in the session of the query, which no other query shares, and put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.proof.settings import with_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
_LOSSY, _EXACT = "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"
_WRITING = {
    _TIMESTAMPS: _EXACT,
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
}
READING = {
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
"""Options of a reader under which a damaged or missing file is an error, and values are exact."""
_OF_THE_SOURCE = ("__CHAR_VARCHAR_TYPE_STRING", "parquet.field.id")
"""Metadata of a column that changes how Spark reads it: padded to a length, or by another id."""


@contextmanager
def writing_exactly(session: SparkSession) -> Iterator[None]:
    """Have Spark write values as they are, whatever the session says."""
    with with_settings(session, _WRITING):
        yield


def write_exactly(frame: DataFrame, where: str) -> None:
    """Write a DataFrame to Parquet, in the place of what is there."""
    with writing_exactly(frame.sparkSession):
        frame.write.mode("overwrite").option("compression", "snappy").parquet(where)


def read_exactly(session: SparkSession, where: str, schema: StructType | None = None) -> DataFrame:
    """Return the rows that `write_exactly` has written; without a schema, with the one kept there.

    A file that is damaged or gone is an error.
    """
    reader = session.read.options(**READING)
    return (reader if schema is None else reader.schema(plain_schema(schema))).parquet(where)


@contextmanager
def exact_timestamps(session: SparkSession) -> Iterator[None]:
    """Have Spark write timestamps with all their digits, if the session says otherwise."""
    is_lossy = str(session.conf.get(_TIMESTAMPS, None)).upper() == _LOSSY
    with with_settings(session, {_TIMESTAMPS: _EXACT} if is_lossy else {}):
        yield


def plain_schema(schema: StructType) -> StructType:
    """Return a schema without what its columns were in the source they come from."""
    return type(schema).fromJson(_plain(schema.jsonValue()))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _plain(each)
        if name != "metadata"
        else {key: kept for key, kept in each.items() if key not in _OF_THE_SOURCE}
        for name, each in value.items()
    }
