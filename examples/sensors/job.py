"""The job of a cluster: the pipeline of a settings file, until it is stopped.

    spark-submit … job.py sensors.toml           runs until SIGTERM, or until a stream fails
    spark-submit … job.py sensors.toml --once    processes what is there now, and ends

`submit.sh` has the options of spark-submit. A driver that was killed is simply started again.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import holdfast as hf
from examples.sensors.guarded import make_pipeline, run_pipeline, sensors_named, start_all


def main(arguments: list[str]) -> None:
    """Run the pipeline of the settings file."""
    settings, *options = arguments
    sensors = sensors_named([settings])
    spark = SparkSession.builder.appName("sensors").getOrCreate()
    pipeline = make_pipeline(sensors)
    if options == ["--once"]:
        run_pipeline(pipeline, spark)
        return
    queries = start_all(pipeline, spark, every=sensors.trigger)
    hf.stop_on_sigterm(*queries.values())
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
