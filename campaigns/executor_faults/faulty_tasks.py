"""Streams of files into every kind of sink, whose tasks fail; the driver of `executor_faults`.

    python faulty_tasks.py FILES LAKE MARKS FAULTS SINKS    (DSN in the environment)

The n-th fault strikes once in the middle of the first task of batch n, and leaves its mark first.
What executors run stands in this file alone: they need not know the campaigns.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf

ROWS_PER_FILE, FILES_PER_BATCH = 500, 2
ROWS_PER_BATCH = ROWS_PER_FILE * FILES_PER_BATCH
KEYS = 50
DSN = "env:READINGS_DSN"
RAISED, KILLED, STANDS_STILL = "raised", "killed", "stands-still"


def postgres_appended(rows: DataFrame, _: str) -> dict[str, Any]:
    """By the driver."""
    return {"df": rows, "into": hf.Postgres(DSN, table="postgres_appended")}


def postgres_by_task(rows: DataFrame, _: str) -> dict[str, Any]:
    """By one task."""
    rows.sparkSession.conf.set("spark.holdfast.driverBatchBytes", "1")
    return {"df": rows, "into": hf.Postgres(DSN, table="postgres_by_task")}


def postgres_counts(rows: DataFrame, _: str) -> dict[str, Any]:
    """With state, and a shuffle whose files are lost with an executor."""
    counted = rows.groupBy((F.col("id") % KEYS).alias("id")).count()
    sink = hf.Postgres(DSN, table="postgres_counts", keys=["id"], sequence_by="count")
    return {"df": counted, "into": sink, "outputMode": "update"}


def delta_appended(rows: DataFrame, lake: str) -> dict[str, Any]:
    """By the tasks themselves."""
    return {"df": rows, "into": hf.Delta(path=f"{lake}/delta_appended")}


def delta_merged(rows: DataFrame, lake: str) -> dict[str, Any]:
    """By a MERGE, which reads the batch more than once."""
    keyed = rows.select((F.col("id") % KEYS).alias("key"), "id")
    sink = hf.Delta(path=f"{lake}/delta_merged", keys=["key"], sequence_by="id")
    return {"df": keyed, "into": sink}


SINKS: dict[str, Callable[[DataFrame, str], dict[str, Any]]] = {
    sink.__name__: sink
    for sink in (
        postgres_appended,
        postgres_by_task,
        postgres_counts,
        delta_appended,
        delta_merged,
    )
}


def faulty(marks: str, faults: list[str]) -> Any:
    """Return a step that passes rows on, and strikes its own task in the middle, once per fault."""
    size = ROWS_PER_BATCH
    strikes = {RAISED: _raise, KILLED: _kill_executor, STANDS_STILL: _stand_still}

    def pass_on(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            number, place = divmod(batch.column(0)[0].as_py(), size)
            if place == 0 and number < len(faults) and _leave(f"{marks}/{faults[number]}"):
                strikes[faults[number]]()
            yield batch.slice(half)

    return pass_on


def _leave(mark: str) -> bool:
    """Return whether the mark is new: then this is the first attempt."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _raise() -> None:
    raise RuntimeError("the first attempt of the task fails")


def _kill_executor() -> None:
    import psutil  # noqa: PLC0415 - on the executor

    name = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
    (executor,) = (each for each in psutil.Process().parents() if name in each.cmdline())
    executor.kill()
    executor.wait(60)


def _stand_still() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def main(arguments: list[str]) -> None:
    """Run one stream after the other, each to its end."""
    files, lake, marks, faults, sinks = arguments
    spark = SparkSession.builder.getOrCreate()
    for name in sinks.split(","):
        Path(marks, name).mkdir()
        session = spark.newSession()
        lines = session.readStream.format("text").option("maxFilesPerTrigger", FILES_PER_BATCH)
        numbers = lines.load(files).select(F.col("value").cast("long").alias("id"))
        rows = numbers.mapInArrow(faulty(f"{marks}/{name}", faults.split(",")), "id long")
        query = hf.start(
            **SINKS[name](rows, lake),
            stream=name.replace("_", "-"),
            root=f"{lake}/streams",
            trigger={"availableNow": True},
        )
        query.awaitTermination()
    for thread in threading.enumerate():
        if thread.name == "holdfast-lease":
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
