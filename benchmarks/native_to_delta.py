"""The stream of `guarded_to_delta` without a guard: Delta's own sink.

python native_to_delta.py FILES TABLE CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from holdfast import points


def main(arguments: list[str]) -> None:
    """Run the stream over all there is."""
    files, table, checkpoint = arguments
    spark = SparkSession.builder.getOrCreate()
    points.reached("session")
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    rows = lines.select(F.col("value").cast("long").alias("id"))
    writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start(table)
    points.reached("started")
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
