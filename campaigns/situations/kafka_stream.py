"""A stream from a topic of a real broker into a list of rows, for the situations of Kafka."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from campaigns.situations.situation import Bench
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.evidence.progress import find_needed
from holdfast.rules import Finding
from holdfast.sources.kafka.client import open_kafka
from holdfast.sources.kafka.found import kafka_query
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.kafka.probe import probe_kafka
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.storage.open import open_reader
from holdfast.testing.rule_cases import findings_in
from lab import Kafka


@dataclass(kw_only=True)
class KafkaStream:
    """A stream from a topic into a list of rows."""

    bench: Bench
    options: dict[str, str]
    topic: str = field(default_factory=lambda: f"readings-{uuid.uuid4().hex[:8]}")
    partitions: int = 1
    expected: list[str] = field(default_factory=list)
    """What the sink must hold if nothing were lost or duplicated."""
    sink: list[str] = field(default_factory=list)
    recorded: Mapping[str, str] = field(default_factory=dict)
    """The ids of topics, as a guarded run would have recorded them."""

    @property
    def broker(self) -> Kafka:
        """The broker that all situations share."""
        return self.bench.kafka()

    @property
    def admin(self) -> AdminClient:
        """A client that can delete."""
        return AdminClient({"bootstrap.servers": self.broker.address, "log_level": 0})

    @property
    def checkpoint(self) -> Path:
        """Where it was made."""
        return self.bench.place / "checkpoint"

    @property
    def source_options(self) -> dict[str, str]:
        """What the query says to the source."""
        named = {} if "subscribePattern" in self.options else {"subscribe": self.topic}
        return {**named, "startingOffsets": "earliest", **self.options}

    def produce(
        self, count: int, *, topic: str | None = None, partition: int = 0, ahead_s: int = 0
    ) -> None:
        """Add records, which the sink must get."""
        values = [f"{partition}:{len(self.expected) + number}" for number in range(count)]
        at_ms = int((time.time() + ahead_s) * 1000)
        records = [(partition, None, value.encode(), at_ms) for value in values]
        self.broker.produce(topic or self.topic, records)
        self.expected += values

    def run(self, checkpoint: Path) -> str:
        """Read everything there is; return what Spark failed with, or nothing."""
        reader = self.bench.spark.readStream.format("kafka").options(**self.source_options)
        df = reader.option("kafka.bootstrap.servers", self.broker.address).load()

        def keep(batch: DataFrame, _: int) -> None:
            self.sink += [row[0] for row in batch.collect()]

        writer = df.selectExpr("CAST(value AS STRING)").writeStream.foreachBatch(keep)
        query = (
            writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        )
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            return f"{error.getCondition()}: {str(error)[:200]}"
        finally:
            query.stop()
        return ""

    def probe(self) -> SourceProbe:
        """Ask the broker, as `--probe` does."""
        checkpoint = collect(open_reader(str(self.checkpoint))).checkpoint
        needed = find_needed(checkpoint)["0"]
        client = open_kafka(self.broker.address)
        assert isinstance(needed, KafkaOffset)
        assert not isinstance(client, NotProbed)
        query = kafka_query(self.source_options)
        return probe_kafka("0", needed, client, recorded=self.recorded, query=query)

    def judge(self) -> tuple[Finding, ...]:
        """Say what is found now."""
        evidence = collect(open_reader(str(self.checkpoint)))
        return findings_in(
            Case(
                checkpoint=evidence.checkpoint,
                overview=overview_of(evidence),
                sources=(self.probe(),),
            )
        )

    def create(self) -> None:
        """Create the topic."""
        self.broker.create_topic(self.topic, partitions=self.partitions)

    def delete(self) -> None:
        """Delete the topic and wait until the broker has forgotten it."""
        admin = self.admin
        for future in admin.delete_topics([self.topic]).values():
            future.result()
        until = time.monotonic() + 20
        while self.topic in admin.list_topics(timeout=5).topics and time.monotonic() < until:
            time.sleep(0.1)

    def recreate(self) -> None:
        """Delete the topic and create it again."""
        self.delete()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                self.create()
            except KafkaException:
                time.sleep(0.2)
            else:
                return

    def delete_records(self, before: int, *, topic: str | None = None) -> None:
        """Delete what retention would delete."""
        admin = self.admin
        place = TopicPartition(topic or self.topic, 0, before)
        for future in admin.delete_records([place]).values():
            future.result()
