"""A stream of files into PostgreSQL, every batch by one task; the driver of `task_faults`.

python files_to_postgres.py FILES ROOT FILES_PER_BATCH BROKEN    (DSN in the environment)

While the file BROKEN is there, reading fails once, and takes it away.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.streams.heartbeat import THREAD


def failing_once(broken: str) -> Any:
    """Return a step that passes rows on, and fails in the middle while a file is there."""

    def pass_on(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            with suppress(FileNotFoundError):
                Path(broken).unlink()
                raise RuntimeError("the source is gone")
            yield batch.slice(batch.num_rows // 2)

    return pass_on


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    files, root, files_per_batch, broken = arguments
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.holdfast.driverBatchBytes", "1")
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", files_per_batch)
    rows = (
        lines.load(files)
        .mapInArrow(failing_once(broken), "value string")
        .select(F.split_part("value", F.lit(" "), F.lit(1)).cast("long").alias("id"), "value")
    )
    query = hf.start(
        rows,
        stream="readings",
        into=hf.Postgres("env:READINGS_DSN", table="readings"),
        root=root,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    # The lease is given up by a thread of its own, which the end of this one would cut off.
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
