"""A stream of the clock into PostgreSQL that runs until it is stopped.

    python until_stopped.py ROOT WAY

The driver of `clean_stops`, and what `pods` run. It prints `running` when its first batch is in the
table, and the seconds that each start took.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import holdfast as hf

SIGTERM, INTERRUPT, SPARK_STOP, EXIT, RERUN = "sigterm", "interrupt", "spark-stop", "exit", "re-run"
WAYS = (SIGTERM, INTERRUPT, SPARK_STOP, EXIT, RERUN)
RERUNS = 20


def begin(rows: DataFrame, root: str) -> Any:
    """Start the stream, and print how long the call took."""
    began = time.monotonic()
    query = hf.start(
        rows,
        stream="ticks",
        root=root,
        into=hf.Postgres("env:TICKS_DSN", table="ticks"),
        trigger={"processingTime": "200 milliseconds"},
    )
    print(f"started {time.monotonic() - began:.3f}", flush=True)
    return query


def await_batch(query: Any) -> None:
    """Wait for a batch with rows of this start."""
    while not any(each["numInputRows"] for each in query.recentProgress):
        assert query.isActive, "the query has ended"
        time.sleep(0.05)
    print("running", flush=True)


def main() -> None:
    """Run until the way to stop is over."""
    root, way = sys.argv[1:]
    logging.basicConfig()  # so that warnings show that they are
    spark = SparkSession.builder.getOrCreate()
    ticks = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    query = begin(ticks.select("value"), root)
    if way == SIGTERM:
        hf.stop_on_sigterm(query)
    await_batch(query)
    for _ in range(RERUNS if way == RERUN else 0):
        query.stop()
        query = begin(ticks.select("value"), root)
        await_batch(query)
    if way == SPARK_STOP:
        spark.stop()
    elif way in (SIGTERM, INTERRUPT):
        query.awaitTermination()


if __name__ == "__main__":
    main()
