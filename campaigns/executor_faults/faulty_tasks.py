"""A stream of files whose tasks fail or lose their executor; the driver of `executor_faults`.

    python faulty_tasks.py CONFIG    (a built-in stream's, with `marks`, `faults` and `executors`)

The n-th fault strikes once, in the first task of batch n: before its first row, in the middle, or
after its last row. It leaves its mark first. When the stream has ended, the executors that Spark
knew are written to `executors`. What executors run is in this file alone: they need not know the
campaigns.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.drills.builtin.workload import ROWS_PER_FILE
from holdfast.drills.kill.waiting import wait_until
from holdfast.drills.programs.builtin import SHAPES, run_query
from holdfast.drills.programs.kept_state import keep_state

FILES_PER_BATCH = 2
ROWS_PER_BATCH = ROWS_PER_FILE * FILES_PER_BATCH
RAISED, KILLED, STANDS_STILL = "raised", "killed", "stands-still"
KILLED_IN_COPY = "killed-in-copy"
"""The campaign strikes, and not the task itself."""
EXECUTORS = 2
SECONDS = 120.0


def mark_of(marks: str, number: int, fault: str) -> str:
    """Return the file that the n-th fault leaves."""
    return f"{marks}/{number:02}-{fault}"


def faulty(marks: str, faults: list[str]) -> Any:
    """Return a step that passes rows on, and strikes its own task once per fault."""
    size = ROWS_PER_BATCH
    strikes = {RAISED: _raise, KILLED: _kill_executor, STANDS_STILL: _stand_still}

    def pass_on(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            number, place = divmod(batch.column(0)[0].as_py(), size)
            struck_at = batch.num_rows * (number % 3) // 2
            yield batch.slice(0, struck_at)
            fault = faults[number] if place == 0 and number < len(faults) else None
            if fault in strikes and _leave(mark_of(marks, number, fault)):
                strikes[fault]()
            yield batch.slice(struck_at)

    return pass_on


def _leave(mark: str) -> bool:
    """Return whether the mark is new: then this is the first attempt."""
    try:
        file = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return False
    os.write(file, describe(_executor()).encode())
    os.close(file)
    return True


def _executor() -> Any:
    import psutil  # noqa: PLC0415 - on the executor

    name = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
    (found,) = (each for each in psutil.Process().parents() if name in each.cmdline())
    return found


def describe(executor: Any) -> str:
    """Return what a mark holds: how its driver calls the executor, and which process it is."""
    arguments = executor.cmdline()
    number = arguments[arguments.index("--executor-id") + 1]
    return f"{number} {executor.pid} {executor.create_time()}"


def _raise() -> None:
    raise RuntimeError("the first attempt of the task fails")


def _kill_executor() -> None:
    executor = _executor()
    executor.kill()
    executor.wait(60)


def _stand_still() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def run(spark: SparkSession, config: Mapping[str, Any]) -> None:
    """Run the stream over all there is."""
    for name, value in config["settings"].items():
        spark.conf.set(name, value)
    run_query(SHAPES[config["shape"]](lambda: _read(spark, config)), config)


def _read(spark: SparkSession, config: Mapping[str, Any]) -> DataFrame:
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", FILES_PER_BATCH)
    numbers = lines.load(config["files"]).select(F.col("value").cast("long").alias("id"))
    return numbers.mapInArrow(faulty(config["marks"], config["faults"]), "id long")


def registered(spark: SparkSession) -> list[tuple[str, bool]]:
    """Return the executors that have registered with this driver, each with whether it lives."""
    known = spark.sparkContext._jsc.sc().statusStore().executorList(False)  # noqa: SLF001
    found = [known.apply(number) for number in range(known.size())]
    return [(each.id(), each.isActive()) for each in found if each.id() != "driver"]


def main(config: Mapping[str, Any]) -> None:
    """Run the stream, and write down its state and its executors when the dead are replaced."""
    spark = SparkSession.builder.getOrCreate()
    run(spark, config)
    wait_until(
        lambda: sum(is_alive for _, is_alive in registered(spark)) == EXECUTORS, seconds=SECONDS
    )
    Path(config["executors"]).write_text(json.dumps(registered(spark)))
    keep_state(spark, Path(config["root"]), Path(config["state"]))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
