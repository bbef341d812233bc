"""The rows of a DataFrame as Arrow data, as a server of Spark Connect sends them."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from holdfast.spark.arrow import Order, RecordBatch
from holdfast.spark.connect.untyped import untyped
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SentJob:
    """A Spark job whose rows the server sends here, no faster than they are read.

    The server says itself when this was all, and fails the request when a task has failed.
    """

    def __init__(self, df: DataFrame) -> None:
        """Start nothing: the request is sent when the rows are read."""
        self._df = untyped(df)
        self._error: BaseException | None = None

    def messages(self) -> Generator[RecordBatch | Order]:
        """Yield each record batch when it arrives, then how many there were."""
        client = self._df.sparkSession.client
        plan = self._df._plan.to_proto(client)
        came = 0
        try:
            for each in client.to_table_as_iterator(plan, {}):
                for batch in each.to_batches() if hasattr(each, "to_batches") else ():
                    yield batch
                    came += 1
        except _broken() as error:
            self._error = error
            return
        yield list(range(came))

    def wait(self) -> None:
        """Raise what the server has said instead of the end.

        Raises:
            PySparkException: The job failed.
        """
        if self._error is not None:
            raise self._error


def _broken() -> tuple[type[Exception], ...]:
    return (*spark_errors(), ValueError)  # the latter is pyarrow's
