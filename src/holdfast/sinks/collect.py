"""Collects a batch on the driver, record batch by record batch, while Spark still computes it.

Spark sends a partition when its task has finished, so retries are over before its rows arrive.
A thread reads everything as it arrives, even if the database is slow. Spark's scheduler itself
writes into the socket, and a slow reader would block every query of the application. What memory
should not hold of it waits in a file.

If a task fails, Spark ends the stream as if the data were complete. So the end of the data is only
believed once Spark has reported that its job succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError, HoldfastError
from holdfast.sinks.spill import Spill, Spilled
from holdfast.spark.arrow import ArrowJob, Order, RecordBatch
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BUDGET_SETTING = "spark.holdfast.driverBatchBytes"
MAX_RESULT_SIZE = "spark.driver.maxResultSize"
"""Spark's own limit of what a job brings to the driver; its error names it."""

HEAP = "spark.driver.memory"
IN_MEMORY_BYTES = 256 << 20
"""What waits of a batch in the driver's memory; more of it waits in a file."""
_SIZE = re.compile(r"([0-9]+)(?:([bkmgtp])b?)?")
_NO_LIMIT = 1 << 60


class IncompleteBatchError(HoldfastError):
    """What came is not what Spark says it sent; the reader's own error is in the log."""

    code = "BATCH_INCOMPLETE"
    retryable = True

    def __init__(self, came: int, sent: int | None) -> None:
        super().__init__(
            what="A batch was not written.",
            why=f"{came} record batches of it came from Spark, which sent {sent or 'more'}.",
            how="Start the stream again: the batch runs again. The log says what broke off.",
        )


class BatchTooLargeError(HoldfastError):
    """More of a batch came to the driver than it takes; nothing of it was committed."""

    code = "BATCH_TOO_LARGE"

    def __init__(self, shown: str, batch_id: int) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why="The driver sends every record, and more of the batch came there than it takes, "
            "or its disk is full.",
            how="Make batches smaller (maxOffsetsPerTrigger, maxFilesPerTrigger), or raise "
            f"{MAX_RESULT_SIZE}, and {BUDGET_SETTING} if it is set.",
        )


class TooLargeError(Exception):
    """More of a batch waits to be written than the driver can hold, or than Spark lets it have."""


def budget_of(spark: SparkSession) -> int:
    """Return how many bytes of a batch may wait on the driver, in memory and in a file.

    By default as many as Spark lets one job bring there.
    """
    given = _given(spark)
    return _result_limit(spark) if given is None else given


def memory_of(spark: SparkSession) -> int:
    """Return how many bytes of a table the driver may hold in memory."""
    given = _given(spark)
    return IN_MEMORY_BYTES if given is None else given


def comfortable_of(spark: SparkSession) -> int:
    """Return how large a batch the driver may be chosen for, whose size is known before.

    Spark makes a task's whole result before it sends it, so the JVM's memory counts too: by
    default it is a quarter of that, and no more than Spark lets a job bring.
    """
    given = _given(spark)
    if given is not None:
        return given
    return min(_result_limit(spark), _size(spark, HEAP, unit="m") // 4)


def _given(spark: SparkSession) -> int | None:
    """Return what the session sets; None when it does not.

    Raises:
        ConfigError: The setting is not a size.
    """
    text = spark.conf.get(BUDGET_SETTING, None)
    if text is None:
        return None
    size = _parse_size(text, unit="b")
    if size is None:
        raise ConfigError(f"{BUDGET_SETTING} is a number of bytes, as in 536870912 or 512m.")
    return size


def _result_limit(spark: SparkSession) -> int:
    return _size(spark, MAX_RESULT_SIZE, unit="b") or _NO_LIMIT


def _size(spark: SparkSession, setting: str, *, unit: str) -> int:
    """Return a size that Spark has in a setting; 1 GiB, its default, where it has none."""
    found = _parse_size(spark.conf.get(setting, None) or "", unit=unit)
    return 1 << 30 if found is None else found


def _parse_size(text: str, *, unit: str) -> int | None:
    """Return a size in bytes, as Spark reads it; None for another text."""
    found = _SIZE.fullmatch(text.strip().lower())
    return None if found is None else int(found[1]) << 10 * "bkmgtp".index(found[2] or unit)


_Arrived = RecordBatch | Spilled | Order | TooLargeError | None
"""None when nothing more comes."""


@contextmanager
def collected(batch: DataFrame, *, budget: int) -> Iterator[Iterator[RecordBatch]]:
    """Give the record batches of a DataFrame, in no promised order, once the first is there.

    Leaving waits until Spark is done with the job, so nothing of it runs on behind our back.

    Args:
        batch: The DataFrame.
        budget: How many bytes may wait to be taken; those over `IN_MEMORY_BYTES` in a file.

    Raises:
        PySparkException, Py4JError: Spark could not compute it; also while it is iterated.
        TooLargeError: More waits than may, or than the file takes, while it is iterated.
    """
    stream = _Stream(port_of(batch.sparkSession).arrow_job(batch), budget)
    reader = Thread(target=stream.read, name="holdfast-collect", daemon=True)
    reader.start()
    try:
        yield stream.until_whole(stream.arrived.get())
    finally:
        stream.is_left = True
        reader.join()
        stream.spill.close()


class _Stream:
    """What has arrived from Spark and was not taken yet."""

    def __init__(self, job: ArrowJob, budget: int) -> None:
        self._job = job
        self._budget = budget
        self._came_bytes = self._taken_bytes = 0
        self._spilled_bytes = self._read_bytes = 0
        self.arrived: SimpleQueue[_Arrived] = SimpleQueue()
        self.spill = Spill()
        self.is_left = False

    def read(self) -> None:
        """Read everything that Spark sends; stop if more waits than may."""
        try:
            with closing(self._job.messages()) as messages:
                for each in messages:
                    if not self.is_left:
                        self.arrived.put(kept := self._keep(each))
                        if isinstance(kept, TooLargeError):
                            return
        finally:
            self.arrived.put(None)

    def _keep(self, each: RecordBatch | Order) -> _Arrived:
        """Return what stands for a message until it is taken."""
        if isinstance(each, list):
            return each
        in_memory = self._came_bytes - self._taken_bytes + each.nbytes
        if in_memory + self._spilled_bytes - self._read_bytes > self._budget:
            return TooLargeError()
        if in_memory <= IN_MEMORY_BYTES:
            self._came_bytes += each.nbytes
            return each
        self._spilled_bytes += each.nbytes
        try:
            return self.spill.put(each)
        except OSError:  # no space is left
            return TooLargeError()

    def _take(self, each: RecordBatch | Spilled) -> RecordBatch:
        if not isinstance(each, Spilled):
            self._taken_bytes += each.nbytes
            return each
        self._read_bytes += each.nbytes
        return self.spill.take(each)

    def until_whole(self, first: _Arrived) -> Iterator[RecordBatch]:
        """Yield what arrives, and end only when Spark says that this was all."""
        each, came, sent = first, 0, None
        while each is not None:
            if isinstance(each, TooLargeError):
                raise each
            if isinstance(each, list):
                sent = len(each)
            else:
                yield self._take(each)
                came += 1
            each = self.arrived.get()
        try:
            self._job.wait()
        except spark_errors() as error:  # py4j's is what that limit raises
            raise TooLargeError if MAX_RESULT_SIZE in str(error) else error from None
        if came != sent:
            raise IncompleteBatchError(came, sent)
