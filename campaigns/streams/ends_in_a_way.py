"""A stream of files into PostgreSQL that ends in the way that it is told.

    python ends_in_a_way.py ROOT FILES LAST WAY [takeover]

It runs batches until batch LAST is in the table, and prints as JSON what Spark says of its start
and of its end: nothing of it comes from Holdfast's record.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import holdfast as hf

FINISHED, STOPPED, EXITED, FAILED, KILLED, REPLACED = (
    *("finished", "stopped", "exited", "failed", "killed", "replaced"),
)
AWAITED = (KILLED, REPLACED)
"""It waits for what is done to it from outside."""
TRIGGERS: dict[str, dict[str, Any]] = {
    FINISHED: {"availableNow": True},
    # One batch, and then idle: it must not read the files of the driver that replaces it.
    REPLACED: {"processingTime": "1 hour"},
}
SECONDS = 120
TABLE, STREAM = "readings", "readings"


def say(what: str, **facts: Any) -> None:
    """Print what has happened."""
    print(json.dumps({"what": what, **facts}), flush=True)


def await_batch(query: Any, last: int) -> None:
    """Wait until a batch is committed."""
    while not any(each["batchId"] >= last for each in query.recentProgress):
        assert query.isActive, "the query has ended"
        time.sleep(0.05)


def await_failure(query: Any) -> str:
    """Wait until the query fails, and return the class of Spark's error."""
    try:
        query.awaitTermination(SECONDS)
    except StreamingQueryException as error:
        return type(error).__name__
    raise AssertionError("the query has not failed")


def main() -> None:
    """Run until the way to end is over."""
    root, files, last, way, *rest = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    text = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    # The rows of the last batch fail in this way, and in this start only.
    broken = F.col("value") == F.lit(f"row {last}" if way == FAILED else "none")
    value = F.when(broken, F.raise_error(F.lit("told to fail"))).otherwise(F.col("value"))
    query = hf.start(
        text.select(value.alias("value")),
        stream=STREAM,
        root=root,
        into=hf.Postgres("env:READINGS_DSN", table=TABLE),
        trigger=TRIGGERS.get(way, {"processingTime": "0 seconds"}),
        takeover=bool(rest),
    )
    say("started", run_id=str(query.runId), spark=spark.version)
    if way == FAILED:
        say("ended", error=await_failure(query))
        return
    await_batch(query, int(last))
    say("ran")
    if way == STOPPED:
        query.stop()
    elif way == FINISHED or way in AWAITED:
        query.awaitTermination()
    say("ended", error=None)


if __name__ == "__main__":
    main()
