"""A driver with several plain streams, without Holdfast, that goes on until it is told to end.

    python plain_alive.py HOME NAME:SINK:SECONDS [NAME:SINK:SECONDS …]

Each stream reads the text files of HOME/NAME/in, with a trigger of so many seconds, into a table or
a directory, HOME/NAME/out. A row that begins with `slow` is written when the file HOME/go is there.
The driver ends with the file HOME/end.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

LOOK_S = 0.1
SHORT = ":1"
"""Of a trigger of one second: such streams read everything before they end."""


def start(spark: SparkSession, home: Path, told: str) -> StreamingQuery:
    """Start one stream."""
    name, sink, seconds = told.split(":")
    go = home / "go"

    def written(value: str) -> str:
        while value.startswith("slow") and not go.exists():
            time.sleep(LOOK_S)
        return value

    reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
    rows = reader.load(f"{home}/{name}/in").select(F.udf(written)("value").alias("value"))
    writer = rows.writeStream.format(sink).queryName(name)
    writer = writer.option("checkpointLocation", f"{home}/cp/{name}")
    return writer.trigger(processingTime=f"{seconds} seconds").start(f"{home}/{name}/out")


def main() -> None:
    """Run the streams until the end is asked for."""
    home = Path(sys.argv[1])
    spark = SparkSession.builder.getOrCreate()
    queries = [start(spark, home, told) for told in sys.argv[2:]]
    while not (home / "end").exists():
        assert all(each.isActive for each in queries), [each.exception() for each in queries]
        time.sleep(LOOK_S)
    for told, each in zip(sys.argv[2:], queries, strict=True):
        if told.endswith(SHORT):
            each.processAllAvailable()
        each.stop()
    spark.stop()


if __name__ == "__main__":
    main()
