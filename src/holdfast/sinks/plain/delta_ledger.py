"""The log of a Delta table of a plain stream: the batches of its query, and the rows of plans.

Delta's own sink sets a transaction version in every commit: the application is the query's id, the
version is the batch. A query that began again with a new id is in the ledger row of the plan that
gave it the id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from holdfast.formats.delta_log import newest_version, walk_back
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.settle import Settling
from holdfast.sinks.delta.table import open_target, sql_name
from holdfast.sinks.delta.target import Target
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.plain.sink import PlainDelta


def open_ledger(
    sink: PlainDelta, spark: SparkSession | None, *, options: Mapping[str, str] | None
) -> PlainDeltaLedgerStore:
    """Open the log of a table that is there."""
    if spark is not None:
        return PlainDeltaLedgerStore(sink, open_target(spark, sink), spark)
    reader = open_reader(parse_location(sink.place), options)
    return PlainDeltaLedgerStore(sink, Target(name=sql_name(sink), reader=reader))


class PlainDeltaLedgerStore(DeltaLedgerStore):
    """Of one table; the commits of the query are the stream's own."""

    tells_own_rows: ClassVar[bool] = False

    def __init__(self, sink: PlainDelta, target: Target, spark: SparkSession | None = None) -> None:
        """Read nothing yet."""
        super().__init__(sink, target, spark)
        self._query_id = sink.query_id

    def own_queries(self, row: LedgerRow) -> frozenset[str]:
        """Return the query of the plan, and those that ledger rows of plans name."""
        standing = self.standing(row.stream)
        known = None if standing is None else standing.row
        named = () if known is None else (str(known.binding.query_id),)
        return frozenset({self._query_id, str(row.binding.query_id), *named}) - {""}

    def _settling(self, new: LedgerRow, newest: int) -> Settling:
        return replace(super()._settling(new, newest), owns_unnamed=not self._query_id)

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        """Return the version that holds the query just up to each batch, by Delta's own sink."""
        del stream
        found: dict[int, str] = {}
        newest = newest_version(self.target.reader)
        for commit in () if newest is None else walk_back(self.target.reader, newest):
            batch = commit.transactions.get(self._query_id) if self._query_id else None
            if batch is not None:
                found.setdefault(batch, str(commit.version))
        return found

    def row_version(self, stream: str) -> int | None:
        """Return the version that came with the row of a stream's last plan."""
        standing = self.standing(stream)
        found = -1 if standing is None else standing.row_version
        return found if found >= 0 else None

    def version_before(self, stream: str, *, generation: int, batch: int) -> str | None:
        """Return nothing: the plan itself names the version that it took the table from."""
        del stream, generation, batch
        return None
