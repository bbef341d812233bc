"""The sensors pipeline that runs until it is killed or one of its streams fails; what `soak` runs.

python pipeline.py KAFKA TOPIC LAKE MESSAGES_PER_BATCH    (DSN in the environment)
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from examples.sensors.guarded import make_pipeline, sensors_named

TRIGGER = {"processingTime": "10 seconds"}
"""Rare: on a loaded machine the first stream would leave little to those that start later."""


def main(arguments: list[str]) -> None:
    """Start all streams, and wait for the end of any."""
    sensors = sensors_named(arguments)
    spark = SparkSession.builder.getOrCreate()
    make_pipeline(sensors).start(spark, trigger=TRIGGER)
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
