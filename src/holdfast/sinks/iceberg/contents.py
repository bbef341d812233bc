"""The rows of an Iceberg table as of the snapshot that the ledger row was read with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.proof.row_hash import quoted
from holdfast.sinks.contents import SinkContents
from holdfast.sinks.iceberg.ledger import IcebergLedgerStore
from holdfast.sinks.iceberg.notes import decode_row, property_of
from holdfast.sinks.iceberg.table import find_target
from holdfast.sinks.spark_merge import merge_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.iceberg.sink import Iceberg


@contextmanager
def open_contents(sink: Iceberg, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give what a table holds; nothing is written.

    Args:
        sink: The table.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        IcebergTableError: The table does not have the columns of the stream.
        IcebergRefusedError: The catalog did not answer.
    """
    target = find_target(df, sink)
    spark = df.sparkSession
    store = IcebergLedgerStore(sink, target, spark)
    table = store.metadata(stream)

    def row_of(name: str) -> LedgerRow | None:
        text = None if table is None else table.properties.get(property_of(name))
        written = None if text is None else decode_row(text)
        return None if written is None else written.row

    yield SinkContents(
        row=row_of(stream),
        rows=_rows_at(df, target.name, None if table is None else table.current_id),
        newest=lambda given: merge_source(given, target) if target.sequence_by else given,
        comparable=lambda given: given,
        row_of=row_of,
        others=store.other_streams(stream),
    )


def _rows_at(df: DataFrame, name: str, snapshot: int | None) -> DataFrame:
    """Return the rows of a snapshot, with the columns of a stream."""
    from pyspark.sql import functions as F

    spark = df.sparkSession
    if snapshot is None:
        return spark.createDataFrame([], df.schema)
    rows = spark.sql(f"SELECT * FROM {name} VERSION AS OF {snapshot}")  # noqa: S608 - the user's
    return rows.select(
        *(
            # A column that was added since the snapshot is NULL in all its rows.
            F.col(quoted(field.name))
            if field.name in rows.columns
            else F.lit(None).cast(field.dataType).alias(field.name)
            for field in df.schema
        )
    )
