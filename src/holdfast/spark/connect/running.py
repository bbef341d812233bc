"""What a server of Spark Connect says of a query whose function runs in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from holdfast.spark.arrow import RecordBatch
from holdfast.spark.connect.worker import PARENT
from holdfast.spark.plans import Untold
from holdfast.spark.progress import read_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class RunningQuery:
    """The query of one start, as the worker sees that runs its function."""

    def __init__(self, spark: SparkSession, query_id: str) -> None:
        """Ask nothing yet."""
        self._spark = spark
        self._query_id = query_id

    def end_offsets(self) -> Untold | None:
        """Return what the last finished batch has read: of the one it is in, the server tells none.

        None when the query does not run: it is being stopped.
        """
        query = self._spark.streams.get(self._query_id)
        if query is None:
            return None
        progress = query.lastProgress
        if progress is None:
            return Untold(last_batch=None, end_offsets=())
        return read_progress(progress.json)

    def is_active(self) -> bool:
        """Return whether the server lives that started this process.

        A server that stops a query ends the process of its function itself.
        """
        return os.getppid() == PARENT


def run_task(spark: SparkSession, task: Callable[[], Iterable[str]]) -> list[str]:
    """Return what a function returns on an executor."""

    def run(batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"said": [str(each) for each in task()]})

    one = spark.range(1).coalesce(1)
    return [row.said for row in one.mapInArrow(run, "said string").collect()]
