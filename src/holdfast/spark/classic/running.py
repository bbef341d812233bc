"""What the running query itself says of the batch it is in: the entry on disk may be another's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from holdfast.ledger.coverage import canonical_offset
from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import iterate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunningQuery:
    """The query of one start. It is looked up once: every call into the JVM costs each batch time.

    A query that is started again is another object with the same id, and is not meant here.
    """

    def __init__(self, spark: SparkSession, query_id: str) -> None:
        """Look for nothing yet: the query begins after the function that it calls was made."""
        self._spark = spark
        self._query_id = query_id
        self._query: Java | None = None

    def end_offsets(self) -> set[str] | None:
        """Return the end offsets of the batch that it is in, in canonical form.

        None when it does not run: it is being stopped.
        """
        if not self.is_active() or self._query is None:
            return None
        offsets = self._query.availableOffsets().valuesIterator()
        return {canonical_offset(str(offset.json())) for offset in iterate(offsets)}

    def is_active(self) -> bool:
        """Return whether it runs and nobody has begun to stop it."""
        if self._query is None:
            found = self._spark._jsparkSession.streams().get(self._query_id)
            self._query = None if found is None else found.streamingQuery()
        return self._query is not None and bool(self._query.isActive())


def run_task(spark: SparkSession, task: Callable[[], Iterable[str]]) -> list[str]:
    """Return what a function returns on an executor."""
    one = spark.sparkContext.parallelize([0], 1)
    return list(one.flatMap(lambda _: task()).collect())
