"""The rows of a user's own sink and its ledger row, read in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from holdfast.sinks.contents import SinkContents, newest_by_key, nullable
from holdfast.sinks.user.ledger import UserLedgerStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.sinks.user.sink import Sink


@contextmanager
def open_contents(sink: Sink, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give the rows of a sink and its ledger row, read in one transaction.

    Args:
        sink: The sink.
        df: The stream, for its columns.
        stream: Its name.
    """
    with closing(UserLedgerStore(sink)) as ledger:
        row, rows = None, list[tuple[Any, ...]]()
        if sink.exists():
            with ledger.naming_failures(), ledger.transaction():
                row, rows = ledger.row_in(stream), list(sink.read_back(ledger.connection()))
        yield SinkContents(
            row=row,
            rows=df.sparkSession.createDataFrame(rows, nullable(df.schema)),
            newest=lambda given: _newest(given, sink),
            comparable=lambda given: given,
            ties="rows of one key and one order value are ordered by the sink's own rules",
            row_of=ledger.row_in,
        )


def _newest(given: DataFrame, sink: Sink) -> DataFrame:
    if not sink.keys or sink.sequence_by is None:
        return given
    return newest_by_key(given, sink.keys, sink.sequence_by, columns=given.columns)
