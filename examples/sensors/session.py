"""A Spark session that has the jars the pipeline needs."""

from __future__ import annotations

import os
import sys

import pyspark
from pyspark.sql import SparkSession

from examples.sensors.settings import Sensors
from holdfast.spark_versions import delta_settings, supported

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    # Its default of 50 costs seconds per commit on a laptop.
    "spark.databricks.delta.snapshotPartitions": "1",
    # A JVM that lives a minute does not earn back the second compiler. Not for production.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
}


def start_session(sensors: Sensors) -> SparkSession:
    """Return a session on this machine.

    With `SPARK_CONF_DIR` in the environment everything comes from there, the jars too.

    Raises:
        SystemExit: There is no Delta for this version of Spark.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark takes any python3 on PATH
    builder = SparkSession.builder
    if "SPARK_CONF_DIR" not in os.environ:
        builder = builder.master("local[*]")
        for name, value in {**_QUIET, **settings_for(sensors)}.items():
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def settings_for(sensors: Sensors) -> dict[str, str]:
    """Return the settings that bring Delta, and Kafka and S3 where the pipeline uses them.

    Raises:
        SystemExit: There is no Delta for this version of Spark.
    """
    version = pyspark.__version__
    row = supported(version)
    if row is None or row.delta is None:
        raise SystemExit(f"There is no Delta for Spark {version}: pip install 'pyspark==4.2.*'")
    scala = "2.12" if row.version < (4, 0) else "2.13"
    packages = [row.delta]
    if sensors.bootstrap:
        packages.append(f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{version}")
    if sensors.lake.startswith("s3a:"):
        packages.append(f"org.apache.hadoop:hadoop-aws:{row.hadoop}")
    return {**delta_settings(version), "spark.jars.packages": ",".join(packages)}
