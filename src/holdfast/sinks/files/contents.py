"""The rows of the batches that a ledger row stands for, read back by Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from holdfast.ledger.row import LedgerRow
from holdfast.sinks.contents import SinkContents, nullable
from holdfast.sinks.files.layout import COLUMN, BatchName
from holdfast.sinks.files.ledger import FilesLedgerStore
from holdfast.sinks.files.place import directory_of
from holdfast.sinks.files.staging import TEXT_OPTIONS
from holdfast.spark.exact_parquet import READING, plain_schema
from holdfast.storage.location import spark_location

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from holdfast.sinks.files.directory import Directory
    from holdfast.sinks.files.sink import Files


_EMPTY = "holdfast:empty:6a1f0c52e6a94b0fb5c1d3a7f2a1c9d4"
"""What Spark's CSV reader is told to give for an empty text, which it takes for NULL otherwise."""


@contextmanager
def open_contents(sink: Files, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give the rows that readers see of every stream, and the ledger row.

    A published batch never changes, so the list of them is the moment that is read.

    Args:
        sink: The sink.
        df: The stream, for its columns.
        stream: Its name.
    """
    with closing(FilesLedgerStore(sink, lambda: directory_of(sink, df.sparkSession))) as ledger:
        directory = ledger.directory
        rows: dict[str, LedgerRow] = {}
        batches: list[BatchName] = []
        for each in (stream, *ledger.other_streams(stream)):
            state = directory.read(each)
            if state is not None:
                rows[each] = state.row
                batches += state.batches
        yield SinkContents(
            row=rows.get(stream),
            rows=_read(directory, batches, sink=sink, df=df),
            newest=lambda given: given,
            comparable=lambda given: given,
            row_of=rows.get,
            others=ledger.other_streams(stream),
        )


def _read(
    directory: Directory, batches: list[BatchName], *, sink: Files, df: DataFrame
) -> DataFrame:
    session, schema = df.sparkSession, plain_schema(nullable(df.schema))
    if not batches:
        return session.createDataFrame([], schema)
    options = {**READING, **TEXT_OPTIONS[sink.format]}
    if sink.format != "parquet":
        options |= {"mode": "FAILFAST", "multiLine": str(sink.format == "csv")}
    if sink.format == "csv":
        options |= {"emptyValue": _EMPTY}
    top = directory.mover.location.join(directory.name)
    reader = session.read.format(sink.format).options(**options, basePath=spark_location(top))
    where = [spark_location(top.join(str(each))) for each in batches]
    rows = reader.schema(schema.add(COLUMN, "string")).load(where)
    return rows.select(*(_column(field) for field in df.schema.fields))


def _column(field: StructField) -> Column:
    from pyspark.sql import functions as F

    from holdfast.proof.row_hash import quoted

    column = F.col(quoted(field.name))
    if field.dataType.typeName() != "string":
        return column
    return F.when(column == _EMPTY, "").otherwise(column).alias(field.name)
