"""The query that `start` returns: Spark's own, which also says when another driver took over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.spark.query import SameQuery

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.streams.heartbeat import Keeper


class LeaseLostError(HoldfastError):
    """The query was stopped because another driver has taken over; there may be work left."""

    code = "LEASE_LOST"

    def __init__(self, stream: str) -> None:
        super().__init__(
            what=f"{stream} was stopped before its end.",
            why="Another driver has taken it over.",
            how="Let that one run; nothing is lost. This driver has nothing more to do.",
        )


class GuardedQuery(SameQuery):
    """A query whose end is only good when nobody has taken it over."""

    def __init__(self, query: StreamingQuery, *, stream: str, keeper: Keeper) -> None:
        """Stand for a query that was started."""
        super().__init__(query)
        self._stream = stream
        self._keeper = keeper

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802
        """Wait as Spark's does.

        Raises:
            LeaseLostError: It was stopped for another driver.
        """
        ended = super().awaitTermination(timeout)
        if self._keeper.is_lost and not self.isActive:
            raise LeaseLostError(self._stream)
        return ended
