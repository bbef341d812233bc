"""Remedies of streams from Kafka: a topic that is another one, and checkpoints that are lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import psycopg
from pyspark.sql import DataFrame

import holdfast as hf
from campaigns.remedies.remedy import Bench, CarriedOut, Remedy
from campaigns.remedies.streams import DSN, FileStream, Row, cut_off, edit
from campaigns.situations.kafka_stream import KafkaStream
from campaigns.situations.situation import Bench as SituationBench


@dataclass
class TopicStream(FileStream):
    """A guarded stream from a topic into a table of PostgreSQL."""

    def __post_init__(self) -> None:
        """Create the table and the topic."""
        super().__post_init__()
        bench = self.bench
        situation = SituationBench(spark=bench.spark, place=bench.place, kafka=bench.kafka)
        self.topic = KafkaStream(bench=situation, options={})
        self.topic.create()

    @property
    def looks(self) -> list[str]:
        """What `holdfast diagnose` is asked."""
        return [*super().looks, "--probe"]

    def add(self, count: int) -> None:
        """Add records."""
        self.topic.produce(count)

    def frame(self) -> DataFrame:
        """Return the query."""
        reader = self.bench.spark.readStream.format("kafka").options(**self.topic.source_options)
        servers: Any = self.topic.broker.address
        return (
            reader.option("kafka.bootstrap.servers", servers)
            .load()
            .selectExpr("CAST(value AS STRING) AS value")
        )

    def expected(self) -> Iterable[Row]:
        """Return what the sink must hold."""
        return [(value,) for value in self.topic.expected]


@dataclass
class TopicTotals(TopicStream):
    """The same with state: totals by value, upserted."""

    def frame(self) -> DataFrame:
        """Return the query."""
        return super().frame().groupBy("value").count().withColumnRenamed("count", "n")

    def sink(self) -> Any:
        """Return where it writes."""
        return hf.Postgres(f"env:{DSN}", table="totals", keys=["value"])

    def start_options(self) -> dict[str, Any]:
        """Return what else the start says."""
        return {"outputMode": "update"}

    def rows(self) -> list[Row]:
        """Return what the sink holds."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute("SELECT value, n FROM totals").fetchall()

    def expected(self) -> Iterable[Row]:
        """Return what the sink must hold."""
        return [(value, 1) for value in self.topic.expected]


Damage = Callable[[TopicStream], None]


def _after(
    damage: Damage, made: type[TopicStream] = TopicStream
) -> Callable[[Bench, str], CarriedOut]:
    """Return what runs a stream of three batches, damages it and repairs it."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = made(bench)
        for _ in range(3):
            stream.add(2)
            stream.run()
        damage(stream)
        return stream.repair(code)

    return carry_out


def _checkpoint_deleted(stream: TopicStream) -> None:
    shutil.rmtree(stream.checkpoint)


def _newest_cut_off(stream: TopicStream) -> None:
    cut_off(stream.checkpoint, "offsets/2")


def _edited(stream: TopicStream) -> None:
    edit(stream.checkpoint, "offsets/2", old='"0":6', new='"0":5')


def _ids_forgotten(bench: Bench, code: str) -> CarriedOut:
    """Create the topic again, with records that are newer, where no id of it was recorded."""
    stream = TopicStream(bench)
    stream.add(6)
    stream.run()
    for path in (stream.root / "_holdfast").glob("*/runs/*.json"):
        run = json.loads(path.read_text())
        run.pop("topic_ids", None)
        path.write_text(json.dumps(run))
    stream.topic.recreate()
    stream.topic.produce(9, ahead_s=600)
    return stream.repair(code)


def _recreated(records: int) -> Callable[[Bench, str], CarriedOut]:
    """Return what creates the topic again, with so many records that were never read."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = TopicStream(bench)
        stream.add(6)
        stream.run()
        stream.topic.recreate()
        stream.add(records)
        return stream.repair(code)

    return carry_out


def _deleted(bench: Bench, code: str) -> CarriedOut:
    """Delete the topic; it is created again only after the repair."""
    stream = TopicStream(bench)
    stream.add(6)
    stream.run()
    stream.topic.delete()
    return stream.repair(code, before_start=stream.topic.create)


REMEDIES = (
    Remedy(name="topic-shorter", code="HF323", goal="reset", carry_out=_recreated(2)),
    Remedy(name="topic-recreated", code="HF324", goal="reset", carry_out=_recreated(9)),
    Remedy(name="topic-deleted", code="HF326", goal="reset", carry_out=_deleted),
    Remedy(name="topic-seems-recreated", code="HF325", goal="reset", carry_out=_ids_forgotten),
    Remedy(
        name="kafka-checkpoint-deleted",
        code="HF606",
        goal="resume",
        carry_out=_after(_checkpoint_deleted),
    ),
    Remedy(
        name="kafka-checkpoint-with-state-deleted",
        code="HF606",
        goal="reset",
        carry_out=_after(_checkpoint_deleted, TopicTotals),
    ),
    Remedy(
        name="kafka-offset-cut-off", code="HF202", goal="resume", carry_out=_after(_newest_cut_off)
    ),
    Remedy(
        name="kafka-offset-with-state-cut-off",
        code="HF202",
        goal="resume",
        carry_out=_after(_newest_cut_off, TopicTotals),
    ),
    Remedy(name="kafka-offset-edited", code="HF605", goal="resume", carry_out=_after(_edited)),
    Remedy(
        name="kafka-offset-with-state-edited",
        code="HF605",
        goal="resume",
        carry_out=_after(_edited, TopicTotals),
    ),
)
