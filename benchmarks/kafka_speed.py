"""What a batch into Kafka takes, beside Spark's own Kafka sink.

    python -m benchmarks.kafka_speed [--rows ROWS] [--pairs N]

Rows are a key and 100 bytes. Both streams run side by side in one session, get the same file in
turns, and write into topics of one broker with as many partitions; a batch is timed by Spark itself
(triggerExecution). Beside it stands the CPU of Python, Spark and broker together, which other load
changes less. The broker and Spark have both of their compilers, as in production. At the end both
topics must have the same records in the same partitions. Ends with 1 below the aim.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import psutil
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from benchmarks.delta_speed import POLLING, batches_of, write_parquet
from benchmarks.delta_streams import CHECKPOINT, add_up, open_stream
from benchmarks.measuring import exit_when_missed, spread
from benchmarks.pairs import Measured, compare_medians, measure_in_turns, show_percentiles
from benchmarks.throughput import cpu_seconds
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import environment

AIM = 0.9
"""Of the rows per second of Spark's own sink."""
PARTITIONS = 4
NATIVE, GUARDED = "Spark's own Kafka sink", "Holdfast"
SPARK_JVM, BROKER_JVM = ("-Xmx3g",), ("-Xmx1g",)


def make_records(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows of a key and a value of 100 bytes."""
    return spark.range(0, rows, 1, 1).select(
        F.format_string("%08d", F.col("id") % 100_000).alias("key"),
        F.concat(F.format_string("%012d", "id"), F.lpad(F.hex("id"), 88, "x")).alias("value"),
    )


def native_to(server: str, topic: str) -> Callable[[DataFrame, Path], Any]:
    """Return what starts Spark's own sink."""

    def start(frame: DataFrame, home: Path) -> Any:
        writer = frame.writeStream.format("kafka").option("kafka.bootstrap.servers", server)
        place = str(home / CHECKPOINT)
        return writer.option("topic", topic).option("checkpointLocation", place).start()

    return start


def guarded_to(server: str, topic: str) -> Callable[[DataFrame, Path], Any]:
    """Return what starts Holdfast."""

    def start(frame: DataFrame, home: Path) -> Any:
        sink = hf.Kafka(lambda: server, topic=topic)
        return hf.start(frame, stream=CHECKPOINT, into=sink, root=str(home))

    return start


class CpuMeter:
    """What all processes of the run have used, batch by batch."""

    def __init__(self) -> None:
        """Count from now on."""
        self.seconds: dict[str, list[float]] = {}

    def around(self, name: str, run: Callable[[], float]) -> Callable[[], float]:
        """Return what runs a batch and notes its CPU."""
        spent = self.seconds.setdefault(name, [])

        def measured() -> float:
            before = cpu_seconds(psutil.Process())
            took = run()
            spent.append(cpu_seconds(psutil.Process()) - before)
            return took

        return measured

    def show(self, *, turns: int) -> None:
        """Print the medians of the last turns."""
        for name, spent in self.seconds.items():
            print(f"  {name:<36}{spread(spent[-turns:]).show(2)} s of CPU per batch")


def check_same_records(spark: SparkSession, server: str, topics: list[str]) -> None:
    """Hold the topics against each other, partition by partition."""
    found = []
    for topic in topics:
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", server)
        reader = reader.option("kafka.isolation.level", "read_committed")
        records = reader.option("subscribe", topic).load().select("partition", "key", "value")
        found.append(add_up(records))
    assert found[0] == found[1], f"topics differ: {found}"
    print(f"  both topics have the same {found[0][0]:,} records in the same partitions")


def judge(found: Measured, *, rows: int) -> list[str]:
    """Print how the guarded stream compares, and return the aim if it was missed."""
    # Rows per second: the ratio of the times, the other way round.
    ratio = compare_medians(found[NATIVE], found[GUARDED])
    what = f"Holdfast's rows per second are {ratio} those of Spark's own sink"
    print(f"  {what}, {rows:,} rows of 100 bytes", flush=True)
    return [what] if ratio.value < AIM else []


@click.command(help=__doc__)
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--pairs", default=12, show_default=True)
def main(*, rows: int, pairs: int) -> None:
    """Measure appends, and fail when the aim is missed."""
    print(f"Append of {rows:,} rows of 100 bytes to {PARTITIONS} partitions, {pairs} turns")
    with scratch_directory() as directory, Kafka(jvm=BROKER_JVM) as kafka:
        os.environ.update(environment(directory, POLLING, jvm=SPARK_JVM, log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        frame = make_records(spark, rows)
        file = write_parquet(frame, directory / "input")
        topics = ["native", "guarded"]
        for topic in topics:
            kafka.create_topic(topic, partitions=PARTITIONS)
        starts = (native_to(kafka.address, topics[0]), guarded_to(kafka.address, topics[1]))
        streams = [
            open_stream(spark, name, directory / str(number), start=start, schema=frame.schema)
            for number, (name, start) in enumerate(zip((NATIVE, GUARDED), starts, strict=True))
        ]
        cpu = CpuMeter()
        ways = {
            each.name: cpu.around(each.name, batches_of(each, lambda _: file)) for each in streams
        }
        found = measure_in_turns(ways, turns=pairs)
        for each in streams:
            each.query.stop()
            show_percentiles(each.name, found[each.name])
        cpu.show(turns=pairs)
        missed = judge(found, rows=rows)
        check_same_records(spark, kafka.address, topics)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
