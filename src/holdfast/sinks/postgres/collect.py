"""A batch from Spark to the driver, record batch by record batch, while Spark still computes.

Spark hands over a partition when its task is done, so its retries are over before a row gets here.
A thread takes everything at once, whatever the database does: Spark's scheduler itself writes into
the socket, and who reads it slowly holds up every query of the application.

When a task fails, Spark ends the stream as if it were whole. Only the result of the thread that
serves it says otherwise: so the end of the data is not the end until that has been asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

RecordBatch = Any
"""A `pyarrow.RecordBatch`, which has no types of its own."""
Order = list[int]
"""How Spark's partitions lie among what came: one number per record batch, after the last."""


MAX_RESULT_SIZE = "spark.driver.maxResultSize"
"""Spark's own limit of what a job brings to the driver; its error names it."""


class IncompleteBatchError(Exception):
    """What came is not what Spark says it sent; the reader's own error is in the log."""


class TooLargeError(Exception):
    """More of a batch waits to be written than the driver may hold, or than Spark lets it have."""


@contextmanager
def collected(batch: Any, *, budget: int) -> Iterator[Iterator[RecordBatch]]:
    """Give the record batches of a DataFrame, in no promised order, once the first is there.

    Leaving waits until Spark is done with the job, so nothing of it runs on behind our back.

    Args:
        batch: The DataFrame.
        budget: How many bytes may wait to be taken.

    Raises:
        PySparkException, Py4JError: Spark could not compute it; also while it is iterated.
        TooLargeError: More waits than may, while it is iterated.
    """
    *address, server = batch._jdf.collectAsArrowToPython()  # noqa: SLF001 - as `toArrow` does
    stream = _Stream(address, budget)
    reader = Thread(target=stream.read, name="holdfast-collect", daemon=True)
    reader.start()
    try:
        yield stream.until_whole(stream.arrived.get(), server)
    finally:
        stream.is_left = True
        reader.join()


class _Stream:
    """What has arrived from Spark and was not taken yet."""

    def __init__(self, address: list[Any], budget: int) -> None:
        self._address = address
        self._budget = budget
        self._came_bytes = 0
        self._taken_bytes = 0
        self.arrived: SimpleQueue[RecordBatch | Order | TooLargeError | None] = SimpleQueue()
        """None when nothing more comes."""
        self.is_left = False

    def read(self) -> None:
        """Take everything that comes; leave off when more waits than may."""
        from pyspark.sql.pandas.serializers import ArrowCollectSerializer
        from pyspark.util import _load_from_socket

        try:
            serializer: Any = ArrowCollectSerializer()  # type: ignore[no-untyped-call]
            with _load_from_socket(self._address, serializer) as found:
                for each in found:
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

    def until_whole(self, first: Any, server: Any) -> Iterator[RecordBatch]:
        """Yield what arrives, and end only when Spark says that it was all."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException
        from pyspark.errors.exceptions.captured import unwrap_spark_exception

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
            with unwrap_spark_exception():
                server.getResult()
        except (PySparkException, Py4JJavaError) as error:  # the latter is what that limit raises
            raise TooLargeError if MAX_RESULT_SIZE in str(error) else error from None
        if came != sent:
            raise IncompleteBatchError(f"{came} record batches came; Spark sent {sent or 'more'}")
