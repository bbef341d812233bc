"""The rows of a Delta table as of the version that the ledger row was read at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.formats.delta_log import walk_back
from holdfast.ledger.row import LedgerRow
from holdfast.proof.row_hash import quoted
from holdfast.sinks.contents import SinkContents
from holdfast.sinks.delta.commit_notes import decode_row
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.table import find_target
from holdfast.sinks.spark_merge import merge_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.sinks.delta.sink import Delta


@contextmanager
def open_contents(sink: Delta, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give what a table holds; nothing is written.

    Args:
        sink: The table.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        DeltaTableError: The table does not have the columns of the stream.
        ReadError: Its log cannot be read.
    """
    target = find_target(df, sink)
    spark = df.sparkSession
    store = DeltaLedgerStore(sink, target, spark)
    standing = store.standing(stream)
    if standing is None:
        rows = spark.createDataFrame([], df.schema)
    else:
        at = f"VERSION AS OF {standing.newest}"
        rows = spark.sql(f"SELECT * FROM {target.name} {at}")  # noqa: S608 - the user's own table
    yield SinkContents(
        row=None if standing is None else standing.row,
        rows=rows.select(*map(quoted, df.columns)),
        newest=lambda given: merge_source(given, target) if target.sequence_by else given,
        comparable=lambda given: given,
        row_of=lambda name: None if standing is None else _row_at(store, name, standing.newest),
        others=store.other_streams(stream),
    )


def _row_at(store: DeltaLedgerStore, stream: str, version: int) -> LedgerRow | None:
    """Return the ledger row of a stream as of a version of the table."""
    found = store.standing(stream)
    if found is None or found.newest == version:
        return None if found is None else found.row
    rows = (decode_row(commit.note) for commit in walk_back(store.target.reader, version))
    return next((row for row in rows if row is not None and row.stream == stream), None)
