"""The sensors pipeline with a bug in its first stage: every tenth message loses its first byte."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from examples.sensors import guarded, plain
from examples.sensors.parsing import read_messages
from examples.sensors.settings import Sensors

STREAM = "sensor-raw-ingest"


def read_broken(spark: SparkSession, sensors: Sensors) -> DataFrame:
    """Return the messages of the topic, every tenth of them cut."""
    cut = F.when(F.col("offset") % 10 == 0, F.expr("substring(value, 2)"))
    return read_messages(spark, sensors).withColumn("value", cut.otherwise(F.col("value")))


def make_broken(sensors: Sensors) -> hf.Pipeline:
    """Return the guarded pipeline with the bug."""
    broken = hf.Pipeline("sensors", root=sensors.checkpoints)
    for name, each in guarded.make_pipeline(sensors).streams.items():
        build = each.build if name != STREAM else lambda spark: read_broken(spark, sensors)
        broken.stream(name, into=list(each.sinks), **each.options)(build)
    return broken


def run_plain_broken(spark: SparkSession, sensors: Sensors) -> None:
    """Bring everything through the pipeline without Holdfast, with the bug."""
    writer = read_broken(spark, sensors).writeStream.format("delta").queryName(STREAM)
    writer = writer.option("checkpointLocation", f"{sensors.checkpoints}/{STREAM}")
    writer.trigger(availableNow=True).start(sensors.table("raw")).awaitTermination()
    for start in plain.STREAMS[1:]:
        start(spark, sensors).awaitTermination()
