"""A stream of files into Spark's own Parquet sink, without Holdfast; beside `guarded_to_files`.

python plain_to_files.py FILES LAKE CHECKPOINT
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from campaigns.streams.guarded_to_delta import read


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    files, lake, checkpoint = arguments
    spark = SparkSession.builder.getOrCreate()
    writer = read(spark, files).repartition(2).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.start(f"{lake}/out").awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
