"""Batches that the driver should not hold: how they are told, and written by one task instead."""

from __future__ import annotations

import threading
from functools import partial
from pickle import PicklingError
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
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

BUDGET_SETTING = "spark.holdfast.driverBatchBytes"
BUDGET_BYTES = 256 << 20
_SECONDS_TO_LOOK = 10.0
"""How long the end of a query waits for the task that looks."""
_NOT_KNOWN = 1 << 50
"""What Spark does not know it takes for Long.MaxValue, which projections then make smaller."""


class ExecutorLacksError(HoldfastError):
    """A batch is too large for the driver, and the executors cannot write it."""

    code = "EXECUTOR_LACKS"

    def __init__(self, shown: str, missing: list[str]) -> None:
        self.missing = missing
        super().__init__(
            what=f"A batch for {shown} was not written.",
            why=f"It is too large for the driver, and executors lack {', '.join(missing)}.",
            how=f"Install it on the executors, or raise {BUDGET_SETTING} and the driver's memory.",
        )


def budget_of(spark: SparkSession) -> int:
    """Return how many bytes of a batch the driver may hold."""
    return int(str(spark.conf.get(BUDGET_SETTING, str(BUDGET_BYTES))))


def is_large(batch: DataFrame) -> bool:
    """Return whether a batch is known to be over the budget before it is run.

    Spark knows the size of files, and of most other sources nothing; that is not large here.
    """
    return (
        budget_of(batch.sparkSession)
        < port_of(batch.sparkSession).estimated_bytes(batch)
        < _NOT_KNOWN
    )


def write_in_task(
    batch: DataFrame, target: Target, attempt: Attempt, *, dsn: Secret, before_commit: BeforeCommit
) -> Decision:
    """Write a batch by one task.

    It is kept on the executors while it is counted and written, so that both see the same rows.

    Raises:
        PySparkException: The task failed; whether it had committed is for the ledger to say.
    """
    batch.persist()
    try:
        rows = batch.count()
        before_commit(rows)
        task = Task(dsn=dsn, target=target, attempt=attempt, expected_rows=rows)
        (answer,) = batch.coalesce(1).mapInArrow(task, "said string").collect()
    finally:
        batch.unpersist()
    return read_answer(answer.said)


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
