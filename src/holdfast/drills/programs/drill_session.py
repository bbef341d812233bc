"""The session of a drill: small and quiet, unless its user has said otherwise.

A sample has a few rows per batch. With Spark's 200 shuffle partitions and Delta's 50 partitions of
a snapshot, a driver of a drill would spend minutes on tasks without a row.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from holdfast.drills.given_settings import is_given
from holdfast.points import tell

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
}
"""What a drill sets where its user has set nothing."""


def open_session() -> SparkSession:
    """Return a session with the settings of a drill, below those that its user gave Spark.

    What the stream's own code sets in its session later wins too.
    """
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        if not is_given(name):
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    tell("spark", spark.version)
    return spark
