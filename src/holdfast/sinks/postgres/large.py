"""Batches that the driver should not hold: how they are told, and written by one task instead."""

from __future__ import annotations

import threading
from functools import partial
from pickle import PicklingError
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.sinks.collect import BUDGET_SETTING, MAX_RESULT_SIZE, budget_of, comfortable_of
from holdfast.sinks.postgres.task import Task, find_missing, read_answer
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.target import Target
    from holdfast.sinks.secrets import Secret
    from holdfast.sinks.sink import BeforeCommit

_SECONDS_TO_LOOK = 10.0
"""How long the end of a query waits for the task that looks."""
_NOT_KNOWN = 1 << 50
"""What Spark does not know it takes for Long.MaxValue, which projections then make smaller."""


class ExecutorLacksError(HoldfastError):
    """A batch is too large for the driver, and the executors cannot write it."""

    code = "EXECUTOR_LACKS"

    def __init__(self, shown: str, missing: list[str], *, is_start: bool = False) -> None:
        self.missing = missing
        lacking = f"executors lack {', '.join(missing)}."
        if is_start:
            super().__init__(
                what=f"The stream was not started on {shown}.",
                why=f"With parallel= its tasks write the rows, and {lacking}",
                how="Install it on the executors, or start the stream without parallel=.",
            )
            return
        super().__init__(
            what=f"A batch for {shown} was not written.",
            why=f"It is too large for the driver, and {lacking}",
            how=f"Install it on the executors, or raise {MAX_RESULT_SIZE}, and {BUDGET_SETTING} if "
            "it is set.",
        )


def is_large(batch: DataFrame) -> bool:
    """Return whether a batch is known before it is run to be more than the driver should take.

    Spark knows the size of files, and of most other sources nothing; that is not large here.
    """
    return (
        comfortable_of(batch.sparkSession)
        < port_of(batch.sparkSession).estimated_bytes(batch)
        < _NOT_KNOWN
    )


def write_in_task(
    batch: DataFrame, target: Target, attempt: Attempt, *, dsn: Secret, before_commit: BeforeCommit
) -> Decision:
    """Write a batch by one task, which sees in its last row that nothing is missing.

    Raises:
        PySparkException: The task failed; whether it had committed is for the ledger to say.
    """
    before_commit(0)
    task = Task(dsn=dsn, target=target, attempt=attempt)
    (answer,) = with_end(batch).mapInArrow(task, "said string").collect()
    return read_answer(answer.said)


def with_end(batch: DataFrame) -> DataFrame:
    """Return the rows of a batch in one partition, and one more row after all of them.

    They are shuffled into it, so that the batch is computed by as many tasks as before. A last
    column is true in the row at the end.
    """
    from pyspark.sql import functions as F

    is_end = f"{max(batch.columns, key=len)}_ends"  # no other column has a name so long
    nothing = [F.lit(None).cast(each.dataType).alias(each.name) for each in batch.schema]
    end = batch.sparkSession.range(0, 1, 1, 1).select(*nothing, F.lit(True).alias(is_end))
    rows = batch.repartition(1).select("*", F.lit(False).alias(is_end))
    return rows.unionAll(end).coalesce(1)


class ExecutorCheck:
    """One small task that looks, beside the start of the query, for what a large batch needs."""

    def __init__(self, spark: SparkSession, dsn: Secret) -> None:
        """Begin looking."""
        self._spark = spark
        self._dsn = dsn
        self._missing: list[str] = []
        self._thread = threading.Thread(target=self._look, name="holdfast-executors", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for the task: a program that ends before it makes Spark log a failed worker."""
        self._thread.join(_SECONDS_TO_LOOK)

    def missing(self) -> list[str]:
        """Return what the executors lack."""
        self._thread.join()
        return self._missing

    def _look(self) -> None:
        self._missing = _look_there(self._spark, self._dsn)
        if self._missing:
            lacking, budget = ", ".join(self._missing), budget_of(self._spark)
            what = f"batches over {budget:,} bytes cannot be written: executors lack {lacking}"
            emit(Warned(what))


def check_executors(spark: SparkSession, dsn: Secret, shown: str) -> None:
    """Look for what tasks need that write in parallel, before anything is written.

    Raises:
        ExecutorLacksError: An executor lacks something.
    """
    if missing := _look_there(spark, dsn):
        raise ExecutorLacksError(shown, missing, is_start=True)


def _look_there(spark: SparkSession, dsn: Secret) -> list[str]:
    """Return what an executor lacks, by a task that looks."""
    from pyspark import cloudpickle
    from pyspark.errors import PySparkException

    try:
        cloudpickle.dumps(dsn)  # type: ignore[no-untyped-call]
    except (PicklingError, TypeError, PySparkException):
        return ["the DSN: the function that returns it cannot be sent there"]
    try:
        return port_of(spark).run_task(spark, partial(find_missing, dsn))
    except spark_errors() as error:
        return [f"Holdfast itself ({type(error).__name__})"]
