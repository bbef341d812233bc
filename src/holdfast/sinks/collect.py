"""Collects a batch on the driver, record batch by record batch, while Spark still computes it.

Spark sends a partition when its task has finished, so retries are over before its rows arrive.
A thread reads everything as it arrives, even if the database is slow. Spark's scheduler itself
writes into the socket, and a slow reader would block every query of the application.

If a task fails, Spark ends the stream as if the data were complete. So the end of the data is only
believed once Spark has reported that its job succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from holdfast.spark.arrow import ArrowJob, Order, RecordBatch
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_RESULT_SIZE = "spark.driver.maxResultSize"
"""Spark's own limit of what a job brings to the driver; its error names it."""


class IncompleteBatchError(Exception):
    """What came is not what Spark says it sent; the reader's own error is in the log."""


class TooLargeError(Exception):
    """More of a batch waits to be written than the driver may hold, or than Spark lets it have."""


_Arrived = RecordBatch | Order | TooLargeError | None
"""None when nothing more comes."""


@contextmanager
def collected(batch: DataFrame, *, budget: int) -> Iterator[Iterator[RecordBatch]]:
    """Give the record batches of a DataFrame, in no promised order, once the first is there.

    Leaving waits until Spark is done with the job, so nothing of it runs on behind our back.

    Args:
        batch: The DataFrame.
        budget: How many bytes may wait to be taken.

    Raises:
        PySparkException, Py4JError: Spark could not compute it; also while it is iterated.
        TooLargeError: More waits than may, while it is iterated.
    """
    stream = _Stream(port_of(batch.sparkSession).arrow_job(batch), budget)
    reader = Thread(target=stream.read, name="holdfast-collect", daemon=True)
    reader.start()
    try:
        yield stream.until_whole(stream.arrived.get())
    finally:
        stream.is_left = True
        reader.join()


class _Stream:
    """What has arrived from Spark and was not taken yet."""

    def __init__(self, job: ArrowJob, budget: int) -> None:
        self._job = job
        self._budget = budget
        self._came_bytes = 0
        self._taken_bytes = 0
        self.arrived: SimpleQueue[_Arrived] = SimpleQueue()
        self.is_left = False

    def read(self) -> None:
        """Read everything that Spark sends; stop if more waits than the budget allows."""
        try:
            with closing(self._job.messages()) as messages:
                for each in messages:
                    if self._is_too_much(each):
                        self.arrived.put(TooLargeError())
                        return
                    if not self.is_left:
                        self.arrived.put(each)
        finally:
            self.arrived.put(None)

    def _is_too_much(self, each: RecordBatch | Order) -> bool:
        if not isinstance(each, list):
            self._came_bytes += each.nbytes
        return self._came_bytes - self._taken_bytes > self._budget and not self.is_left

    def until_whole(self, first: _Arrived) -> Iterator[RecordBatch]:
        """Yield what arrives, and end only when Spark says that this was all."""
        each, came, sent = first, 0, None
        while each is not None:
            if isinstance(each, TooLargeError):
                raise each
            if isinstance(each, list):
                sent = len(each)
            else:
                yield each
                came += 1
                self._taken_bytes += each.nbytes
            each = self.arrived.get()
        try:
            self._job.wait()
        except spark_errors() as error:  # py4j's is what that limit raises
            raise TooLargeError if MAX_RESULT_SIZE in str(error) else error from None
        if came != sent:
            raise IncompleteBatchError(f"{came} record batches came; Spark sent {sent or 'more'}")
