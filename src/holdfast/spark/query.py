"""A streaming query that stands for another one, so that its methods can be extended."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery


class SameQuery(StreamingQuery):
    """Spark's own query, under another class."""

    def __init__(self, query: StreamingQuery) -> None:
        """Stand for a query that was started."""
        super().__init__(query._jsq)
