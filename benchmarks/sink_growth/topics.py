"""Kafka: history is records of the topic and of the ledger's topic, and transaction markers.

The sink's own producer writes it, a hundred batches in one transaction: the markers are fewer than
a living stream leaves, the records are as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from confluent_kafka import Producer
from pyspark.sql.types import StringType, StructField, StructType

import holdfast as hf
from benchmarks.sink_growth.growing import STREAM, GrowingSink
from benchmarks.sink_growth.without_spark import VALUES, WithoutSpark, handed_over
from holdfast.ledger.row import advance
from holdfast.sinks.kafka.ledger import KafkaLedgerStore
from holdfast.sinks.kafka.record import LedgerRecord, encode_record, key_of
from holdfast.sinks.sink import SinkSpec
from lab import Kafka

_SCHEMA = StructType([StructField("key", StringType()), StructField("value", StringType())])
_KEYS = [str(number) for number, _ in VALUES]
_ROWS = pa.table({"key": _KEYS, "value": [name for _, name in VALUES]})
_PARTITIONS = 4
_AT_ONCE = 100


class OnKafka(WithoutSpark):
    """A topic beside one that a bare transactional producer fills."""

    def __init__(self, sink: SinkSpec, address: str) -> None:
        """Open the bare producer, with the waits of the sink's own."""
        settings = {"bootstrap.servers": address, "transactional.id": "bare", "linger.ms": 20}
        self._producer = Producer({**settings, "log_level": 3})
        self._producer.init_transactions(30)
        super().__init__(sink, _SCHEMA, _ROWS)

    def grow(self, size: int) -> None:
        """Have the records of so many batches."""
        while self.behind < size:
            self._write_many(min(_AT_ONCE, size - self.behind))

    def _write_many(self, count: int) -> None:
        ledger = self.writer.ledger
        assert isinstance(ledger, KafkaLedgerStore)
        stream = ledger.of(STREAM)
        found = stream.read()
        assert found is not None
        row = found.row
        with stream.transactions.transaction() as producer:
            for _ in range(count):
                row = advance(row, self.take_attempt())
                for number, name in VALUES:
                    producer.produce("readings", key=str(number), value=name)
                value = encode_record(LedgerRecord(row=row, pins=found.pins))
                key = key_of(STREAM, self.writer.name)
                producer.produce(stream.topic, value=value, key=key, partition=0)
            stream.transactions.flush()
            stream.put(stream.advanced(found, row))
        self.behind += count

    def bare(self) -> None:
        """Produce the rows in a transaction."""
        self._producer.begin_transaction()
        for number, name in VALUES:
            self._producer.produce("bare", key=str(number), value=name)
        self._producer.commit_transaction(30)


@contextmanager
def kafka(directory: Path) -> Iterator[GrowingSink]:
    """Give a topic."""
    del directory
    with Kafka() as server, handed_over():
        for topic in ("readings", "bare"):
            server.create_topic(topic, partitions=_PARTITIONS)
        yield OnKafka(hf.Kafka(lambda: server.address, topic="readings"), server.address)
