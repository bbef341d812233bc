"""Remedies of a stream whose topic was deleted and created again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from campaigns.remedies.remedy import Bench, CarriedOut, Remedy
from campaigns.remedies.streams import FileStream, Row
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
)
