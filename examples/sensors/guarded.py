"""The pipeline on Holdfast: five streams that may be killed at any moment.

    python -m examples.sensors.guarded SETTINGS
    python -m examples.sensors.guarded KAFKA TOPIC LAKE MESSAGES_PER_BATCH

It brings everything that is in the topic through, while all streams run, and ends. The DSN of
PostgreSQL is where the settings say; in the second form it is in the environment, as `SENSORS_DSN`.
Compare `plain.py`: what it does by hand with transaction ids and upserts is done by the sinks here,
and nothing else of it is needed.

Every sink of a stream gets the same rows, so what goes into quarantine is a stream of its own.
"""

from __future__ import annotations

import logging
import sys
import traceback

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import holdfast as hf
from examples.sensors import parsing
from examples.sensors.parsing import parse, read_messages
from examples.sensors.settings import Sensors, load_settings
from holdfast.redact import redact

SERVING_TABLES = """
create table if not exists latest (
    sensor_id text primary key,
    reading_id text not null,
    event_time timestamptz not null,
    value double precision not null,
    version text not null
);
create table if not exists product_usage (
    product text not null,
    window_start timestamptz not null,
    readings bigint not null,
    total numeric(28, 3) not null,
    primary key (product, window_start)
);
"""


def make_pipeline(sensors: Sensors) -> hf.Pipeline:
    """Declare the streams, in the order their data flows; nothing is started."""
    pipeline = hf.Pipeline("sensors", root=sensors.checkpoints)

    @pipeline.stream("sensor-raw-ingest", into=hf.Delta(path=sensors.table("raw")))
    def raw_ingest(spark: SparkSession) -> DataFrame:
        return read_messages(spark, sensors)

    @pipeline.stream("sensor-deserialize", into=hf.Delta(path=sensors.table("typed")))
    def deserialize(spark: SparkSession) -> DataFrame:
        return parsing.first_of_each(parse(_read(spark, "raw")))

    @pipeline.stream("sensor-quarantine", into=hf.Delta(path=sensors.table("quarantine")))
    def quarantine(spark: SparkSession) -> DataFrame:
        return parsing.rejected(parse(_read(spark, "raw")))

    # The latest reading of each sensor stays, in whatever order they come.
    @pipeline.stream("sensor-merge-gold", into=_latest_sinks(sensors))
    def merge_gold(spark: SparkSession) -> DataFrame:
        # Of two readings of one time the higher id is the later one: one column for both.
        # Digits of one width sort like the number, and depend on no time zone.
        time = F.lpad(F.unix_micros("event_time").cast("string"), 16, "0")
        version = F.concat_ws(" ", time, "reading_id").alias("version")
        typed = _read(spark, "typed")
        return typed.select("reading_id", "sensor_id", "event_time", "value", version)

    # In update mode a batch has each window that changed: the newest batch is right.
    @pipeline.stream("product-usage", into=_usage_sinks(sensors), outputMode="update")
    def product_usage(spark: SparkSession) -> DataFrame:
        return parsing.usage(_read(spark, "typed"))

    def _read(spark: SparkSession, table: str) -> DataFrame:
        return spark.readStream.format("delta").load(sensors.table(table))

    return pipeline


def _latest_sinks(sensors: Sensors) -> list[hf.Delta | hf.Postgres]:
    keys, newest = ["sensor_id"], "version"
    gold = hf.Delta(path=sensors.table("gold"), keys=keys, sequence_by=newest)
    if not sensors.postgres:
        return [gold]
    return [gold, hf.Postgres(sensors.postgres, table="latest", keys=keys, sequence_by=newest)]


def _usage_sinks(sensors: Sensors) -> list[hf.Delta | hf.Postgres]:
    keys = ["product", "window_start"]
    usage = hf.Delta(path=sensors.table("usage"), keys=keys)
    if not sensors.postgres:
        return [usage]
    return [usage, hf.Postgres(sensors.postgres, table="product_usage", keys=keys)]


def run_once(spark: SparkSession, sensors: Sensors) -> None:
    """Bring everything that is in the topic now through the pipeline."""
    run_pipeline(make_pipeline(sensors), spark)


def run_pipeline(pipeline: hf.Pipeline, spark: SparkSession) -> None:
    """Bring everything that is there now through all streams, which run side by side."""
    queries = start_all(pipeline, spark)
    try:
        for query in queries.values():
            query.processAllAvailable()
    finally:
        for query in queries.values():
            query.stop()


def start_all(
    pipeline: hf.Pipeline, spark: SparkSession, *, every: str = "500 milliseconds"
) -> dict[str, StreamingQuery]:
    """Start every stream, or none: if one does not start, stop the others and say why.

    Raises:
        PipelineStartError: With the causes in full, as its notes.
    """
    try:
        return pipeline.start(spark, trigger={"processingTime": every})
    except hf.PipelineStartError as error:
        for name, cause in error.errors.items():
            told = "".join(traceback.format_exception(cause))
            error.add_note(f"{name} was not started: {redact(told)}")
        for query in error.queries.values():
            query.stop()
        raise


def sensors_named(arguments: list[str]) -> Sensors:
    """Return what a program's arguments name, and have it say what it does."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    if len(arguments) == 1:
        return load_settings(arguments[0])
    bootstrap, topic, lake, messages_per_batch = arguments
    return Sensors(
        bootstrap=bootstrap,
        topic=topic,
        lake=lake,
        checkpoints=f"{lake}/checkpoints",
        messages_per_batch=int(messages_per_batch),
    )


def main(arguments: list[str]) -> None:
    """Run the pipeline on what the arguments name."""
    sensors = sensors_named(arguments)
    run_once(SparkSession.builder.getOrCreate(), sensors)


if __name__ == "__main__":
    main(sys.argv[1:])
