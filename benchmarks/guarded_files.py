"""A stream of files into PostgreSQL, guarded; the driver of `crash_states`.

python guarded_files.py FILES ROOT    (READINGS_DSN)
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.streams.keeper import THREAD


def run(spark: SparkSession, files: str, root: str, *, dsn: str | Callable[[], str]) -> None:
    """Run it over all there is, until its lease is given up."""
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    query = hf.start(
        lines,
        stream="readings",
        into=hf.Postgres(dsn, table="readings"),
        root=root,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join()


if __name__ == "__main__":
    run(SparkSession.builder.getOrCreate(), *sys.argv[1:], dsn="env:READINGS_DSN")
