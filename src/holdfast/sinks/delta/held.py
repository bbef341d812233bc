"""The rows of a Delta table as of the version that the ledger row was read at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.proof.row_hash import quoted
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.merge import merge_source
from holdfast.sinks.delta.table import find_target
from holdfast.sinks.held import Held

if TYPE_CHECKING:
    from holdfast.sinks.delta.sink import Delta


@contextmanager
def open_held(sink: Delta, df: Any, stream: str) -> Iterator[Held]:
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
    standing = DeltaLedgerStore(sink, target, spark).standing(stream)
    if standing is None:
        rows = spark.createDataFrame([], df.schema)
    else:
        at = f"VERSION AS OF {standing.newest}"
        rows = spark.sql(f"SELECT * FROM {target.name} {at}")  # noqa: S608 - the user's own table
    yield Held(
        row=None if standing is None else standing.row,
        rows=rows.select(*map(quoted, df.columns)),
        newest=lambda given: merge_source(given, target) if target.sequence_by else given,
        comparable=lambda given: given,
    )
