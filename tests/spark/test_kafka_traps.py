"""`hf.Kafka`: what happens to its two topics, and brokers that are not as they should be."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.cimpl import NewTopic
from pyspark.sql.types import StringType, StructField, StructType

from holdfast.errors import ConfigError, HoldfastError
from holdfast.ledger import Apply, LedgerRow, Reason, Refuse
from holdfast.sinks.kafka.cluster import Cluster, Topic
from holdfast.sinks.kafka.contents import ContentsGoneError, open_contents
from holdfast.sinks.kafka.failures import (
    KafkaAwayError,
    LedgerTopicError,
    TransactionTooLongError,
)
from holdfast.sinks.kafka.record import key_of
from holdfast.sinks.kafka.sender import Sender
from holdfast.sinks.kafka.writer import KafkaWriter, resolve_writer
from holdfast.sinks.table_changed import TableChangedError
from lab import Kafka
from lab.topics import read_topic
from tests.spark.kafka_writers import SCHEMA, STREAM, Into, batches, numbered, without_spark
from tests.stand_ins import stand_in


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


def make(kafka: Kafka) -> Into:
    topic = f"traps_{uuid.uuid4().hex[:12]}"
    kafka.create_topic(topic, partitions=2)
    return Into(kafka, topic)


@pytest.fixture
def into(kafka: Kafka) -> Into:
    return make(kafka)


@pytest.fixture
def writer(into: Into) -> Iterator[KafkaWriter]:
    """A writer with one batch behind it."""
    found = into.first()
    assert found.write(into.attempt(0), numbered(0)) == Apply()
    yield found
    found.close()


def examined(into: Into) -> str | None:
    """Return what the next start finds wrong, by clients of its own."""
    with closing(into.start()) as next_start:
        row = next_start.ledger.read(STREAM)
        assert isinstance(row, LedgerRow)
        return next_start.ledger.examine(row)


def test_a_ledger_topic_that_is_lost_is_never_taken_for_a_new_stream(
    into: Into, writer: KafkaWriter
) -> None:
    into.delete(into.ledger_topic)
    assert writer.write(into.attempt(1), numbered(1)) == Refuse(Reason.NO_ROW)
    assert writer.ledger.read(STREAM) is None  # which G3 refuses where a checkpoint has batches
    assert into.ids() == batches(1)


def test_a_ledger_topic_that_is_lost_within_a_batch_takes_the_batch_with_it(
    into: Into, writer: KafkaWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Sender.send

    def send_and_delete(sender: Sender, batch: Any) -> None:
        sent(sender, batch)
        into.delete(into.ledger_topic)

    monkeypatch.setattr(Sender, "send", send_and_delete)
    with pytest.raises(LedgerTopicError, match="There is no topic holdfast"):
        writer.write(into.attempt(1), numbered(1))
    assert into.ids() == batches(1)


def test_a_ledger_topic_that_was_copied_into_a_new_one_is_told_apart(
    into: Into, writer: KafkaWriter
) -> None:
    kept = read_topic(into.kafka.address, into.ledger_topic)[-1][2]
    assert kept is not None
    into.delete(into.ledger_topic)
    writer.create()
    into.kafka.produce(into.ledger_topic, [(0, key_of(STREAM, into.topic), kept, 0)])
    assert "ledger topic" in str(examined(into))
    with pytest.raises(TableChangedError, match="created again"):
        writer.write(into.attempt(1), numbered(1))
    assert into.ids() == batches(1)


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_ledger_topic_that_forgets_its_row_is_refused(into: Into, policy: str) -> None:
    admin = into.admin
    new = NewTopic(into.ledger_topic, 1, 1, config={"cleanup.policy": policy})
    for future in admin.create_topics([new]).values():
        future.result()
    with pytest.raises(LedgerTopicError, match=r"cleanup\.policy=compact"):
        into.start()


def test_a_record_of_somebody_else_is_not_taken_for_the_row(
    into: Into, writer: KafkaWriter
) -> None:
    into.kafka.produce(into.ledger_topic, [(0, key_of(STREAM, into.topic), b"{}", 0)])
    with pytest.raises(LedgerTopicError, match="not a ledger record"):
        writer.write(into.attempt(1), numbered(1))
    assert "not a ledger record" in str(getattr(writer.ledger.read(STREAM), "why", ""))


def test_a_topic_that_is_deleted_or_created_again_takes_no_batch(
    into: Into, writer: KafkaWriter
) -> None:
    into.delete(into.topic)
    with pytest.raises(HoldfastError, match="no topic"):
        writer.write(into.attempt(1), numbered(1))
    into.kafka.create_topic(into.topic, partitions=2)
    assert "was deleted and created again" in str(examined(into))
    with pytest.raises(TableChangedError, match="created again"):
        writer.write(into.attempt(1), numbered(1))
    assert into.ids() == batches(0)


def test_records_that_retention_deletes_stop_no_stream_but_cannot_be_proven(
    into: Into, writer: KafkaWriter
) -> None:
    admin = into.admin
    ends = {part: offset for part, offset in _ends(into).items() if offset}
    gone = [TopicPartition(into.topic, part, offset) for part, offset in ends.items()]
    for future in admin.delete_records(gone).values():
        future.result()
    assert examined(into) is None
    assert writer.write(into.attempt(1), numbered(1)) == Apply()
    assert set(into.ids()) == set(batches(2)) - set(batches(1))
    with pytest.raises(ContentsGoneError, match="begins at"):
        read_back(into)


def read_back(into: Into) -> tuple[int, Counter[int]]:
    """Return the last batch of what a proof reads, and the ids of its records."""
    session = SimpleNamespace(conf={})  # nothing is set
    session.createDataFrame = lambda rows, _: rows
    frame = SimpleNamespace(schema=SCHEMA, columns=["key", "value"], sparkSession=session)
    frame.drop = lambda _: frame
    with open_contents(into.sink(), stand_in(frame), STREAM) as held:
        assert held.row is not None
        rows: Any = held.rows
        return held.row.last_batch, Counter(int(value) for _, value in rows)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_proof_reads_one_moment_of_a_stream_that_goes_on(
    into: Into, writer: KafkaWriter, monkeypatch: pytest.MonkeyPatch, *, is_before: bool
) -> None:
    look, batch = Cluster.stable_ends, iter([1])

    def write() -> None:
        for number in batch:
            assert writer.write(into.attempt(number), numbered(number)) == Apply()

    def look_meanwhile(cluster: Cluster, topic: Topic) -> dict[int, int]:
        if topic.name != into.topic:
            return look(cluster, topic)
        if is_before:
            write()
        found = look(cluster, topic)
        write()
        return found

    monkeypatch.setattr(Cluster, "stable_ends", look_meanwhile)
    assert read_back(into) == (1, batches(2))


def test_a_proof_waits_for_no_driver_that_was_killed_in_its_commit(
    into: Into, writer: KafkaWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.kafka.stream_ledger._LOOK_S", 0.0)
    ledger = writer.ledger.of(STREAM)
    record = ledger.read()
    assert record is not None
    ledger.transactions.open().begin_transaction()
    ledger.put(record)
    with pytest.raises(ContentsGoneError, match="stayed open"):
        read_back(into)
    with closing(into.fence()):  # of the next start, which ends that transaction
        assert read_back(into) == (0, batches(1))


def _ends(into: Into) -> dict[int, int]:
    with closing(into.start()) as start:
        cluster = start.ledger.cluster
        return cluster.ends(cluster.find(into.topic)[into.topic])


FIELDS = {
    "no value": (StructField("key", StringType()),),
    "topic": (StructField("value", StringType()), StructField("topic", StringType())),
    "column other": (StructField("value", StringType()), StructField("other", StringType())),
}


@pytest.mark.parametrize("told", list(FIELDS))
def test_columns_that_have_no_place_in_a_record_are_refused(into: Into, told: str) -> None:
    df = stand_in(SimpleNamespace(schema=StructType(list(FIELDS[told]))))
    with pytest.raises(ConfigError, match=told.rpartition(" ")[2]):
        resolve_writer(into.sink(), df, STREAM)


def test_a_topic_that_does_not_exist_is_refused_and_not_created(kafka: Kafka) -> None:
    with pytest.raises(ConfigError, match="There is no topic"):
        Into(kafka, "never_created").start()


SHORT = {
    "transactional.id.expiration.ms": "1000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "producer.id.expiration.ms": "1000",
    "producer.id.expiration.check.interval.ms": "500",
}


@pytest.fixture(scope="module")
def short_lived() -> Iterator[Kafka]:
    """A broker that forgets transactional ids within seconds."""
    with Kafka(properties=SHORT) as broker:
        yield broker


def wait_for_the_broker() -> None:
    """Wait until the broker has done what it does every half second; nothing says that it has."""
    threading.Event().wait(4)


def test_a_transactional_id_that_has_expired_costs_a_repetition(
    short_lived: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    into = make(short_lived)
    writer = into.first()
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    wait_for_the_broker()
    assert writer.write(into.attempt(1), numbered(1)) == Apply()
    assert "batch 1" in caplog.text  # it was refused once: the id had expired
    assert into.ids() == batches(2)
    writer.close()


def test_a_batch_that_is_longer_than_its_transaction_is_refused(short_lived: Kafka) -> None:
    into = make(short_lived)
    writer = into.first(into.sink(timeout_s=1))

    def take_too_long(rows: int) -> None:
        if rows:
            wait_for_the_broker()

    with pytest.raises(TransactionTooLongError, match="timeout_s="):
        writer.write(into.attempt(0), numbered(0), before_commit=take_too_long)
    assert into.ids() == batches(0)
    writer.close()


def test_a_broker_that_cannot_keep_transactions_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.sinks.kafka.transactions.INIT_S", 3.0)
    monkeypatch.setattr("holdfast.sinks.kafka.ledger._TRIES", 1)
    with Kafka(properties={"transaction.state.log.replication.factor": "3"}) as broker:
        into = make(broker)
        with pytest.raises(KafkaAwayError, match=r"transaction\.state\.log\.replication"):
            into.first()
