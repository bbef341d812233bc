"""Writers into a real Kafka, with rows from Arrow in the place of Spark's."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql.types import StringType, StructField, StructType

from holdfast.ledger import Attempt, LedgerRow
from holdfast.sinks.kafka.ledger import KafkaLedgerStore
from holdfast.sinks.kafka.sink import Kafka as KafkaSink
from holdfast.sinks.kafka.writer import KafkaWriter, resolve_writer
from lab import Kafka
from lab.topics import read_topic
from tests.ledger_rows import ROW, attempt
from tests.stand_ins import stand_in

STREAM = "readings"
ROWS = 20
SCHEMA = StructType([StructField("key", StringType()), StructField("value", StringType())])


def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the rows from a list of record batches instead of from Spark."""
    path = "holdfast.sinks.collect.collected"
    monkeypatch.setattr(path, lambda batch, **_: nullcontext(iter(batch.batches)))
    monkeypatch.setattr("holdfast.sinks.collect.budget_of", lambda _: 1 << 30)


def batch_of(*records: dict[str, Any]) -> Any:
    """Return records as a batch has them."""
    table = pa.Table.from_pylist(list(records))
    return stand_in(SimpleNamespace(batches=table.to_batches(), sparkSession=None))


def numbered(number: int) -> Any:
    """Return the batch of a number."""
    ids = range(number * ROWS, (number + 1) * ROWS)
    return batch_of(*({"key": str(each), "value": str(each)} for each in ids))


@dataclass
class Into:
    """A topic, and starts of one stream that write into it."""

    kafka: Kafka
    topic: str

    def sink(self, **more: Any) -> KafkaSink:
        return KafkaSink(lambda: self.kafka.address, topic=self.topic, **more)

    @property
    def row(self) -> LedgerRow:
        return replace(ROW, sink=self.topic)

    @property
    def ledger_topic(self) -> str:
        return f"holdfast.{STREAM}.{self.topic}"

    def attempt(self, number: int, **changes: Any) -> Attempt:
        return attempt(number, sink=self.topic, **changes)

    def start(self, sink: KafkaSink | None = None) -> KafkaWriter:
        """Return the writer of a start."""
        df = stand_in(SimpleNamespace(schema=SCHEMA))
        writer = resolve_writer(sink or self.sink(), df, STREAM)
        writer.create()
        return writer

    def first(self, sink: KafkaSink | None = None) -> KafkaWriter:
        """Return the writer of the first start, with a ledger row."""
        writer = self.start(sink)
        assert writer.ledger.replace(None, self.row)
        return writer

    def fence(self, epoch: int = 2) -> KafkaWriter:
        """Return the writer of a later start, which has fenced the sink."""
        writer = self.start()
        found = writer.ledger.read(STREAM)
        assert isinstance(found, LedgerRow)
        assert writer.ledger.fence(found, epoch=epoch, nonce=f"n{epoch}") is not None
        return writer

    def ids(self) -> Counter[int]:
        """Return what a consumer finds that waits for transactions."""
        found = read_topic(self.kafka.address, self.topic)
        return Counter(int(value or b"") for _, _, value in found)

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.kafka.address, "log_level": 0})

    def delete(self, topic: str) -> None:
        """Delete a topic, and wait until the broker has forgotten it."""
        admin = self.admin
        for future in admin.delete_topics([topic]).values():
            future.result()
        store = KafkaLedgerStore(self.sink())
        while store.cluster.find(topic):
            pass


def batches(number: int) -> Counter[int]:
    """Return the ids of so many batches."""
    return Counter(range(number * ROWS))
