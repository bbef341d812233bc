"""A guarded start asks Kafka with the session's own client, and knows topics by their ids."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame

from holdfast.record.runs import newest_run
from holdfast.sources.kafka.client import open_kafka
from holdfast.sources.kafka.probe import CannotAskError
from holdfast.sources.probe import NotProbed
from holdfast.spark.classic import kafka_client
from holdfast.spark.classic.kafka_client import find_kafka_clients
from holdfast.storage.open import open_reader
from holdfast.streams.refusal import StartRefusedError
from lab import Kafka
from tests.spark.file_stream import Stream

TIME_MS = 1_700_000_000_000


@pytest.fixture
def topic(kafka: Kafka) -> str:
    name = f"readings-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=1)
    return name


def produce(kafka: Kafka, topic: str, *values: str) -> None:
    kafka.produce(topic, [(0, None, value.encode(), TIME_MS) for value in values])


def read(stream: Stream, servers: str, topic: str, **options: str) -> DataFrame:
    reader = stream.spark.readStream.format("kafka").option("subscribe", topic)
    reader = reader.option("kafka.bootstrap.servers", servers)
    reader = reader.option("startingOffsets", "earliest").options(**options)
    return reader.load().selectExpr("string(value)")


def recreate(kafka: Kafka, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.address, "log_level": 0})
    for future in admin.delete_topics([topic]).values():
        future.result()
    until = time.monotonic() + 20
    while topic in admin.list_topics(timeout=5).topics:
        assert time.monotonic() < until
    kafka.create_topic(topic, partitions=1)


def recorded_ids(stream: Stream) -> Mapping[str, Mapping[str, str]]:
    run = newest_run(open_reader(str(stream.root / "_holdfast/readings")))
    assert run is not None
    return run.topic_ids


def test_both_clients_say_the_same(stream: Stream, kafka: Kafka, topic: str) -> None:
    produce(kafka, topic, "a", "b", "c")
    admin = AdminClient({"bootstrap.servers": kafka.address, "log_level": 0})
    for future in admin.delete_records([TopicPartition(topic, 0, 1)]).values():
        future.result()
    ours = open_kafka(kafka.address)
    assert not isinstance(ours, NotProbed)
    impatient = {"kafka.default.api.timeout.ms": "1"}
    (session,) = find_kafka_clients(read(stream, kafka.address, topic, **impatient)).values()
    found = session.describe([topic, "absent"])
    assert found == ours.describe([topic, "absent"])
    assert found[topic].ranges == {0: (1, 3)}
    assert len(found[topic].topic_id or "") == 22


def test_a_topic_that_was_created_again_is_refused_though_spark_would_start(
    stream: Stream, kafka: Kafka, topic: str
) -> None:
    df = read(stream, kafka.address, topic)
    produce(kafka, topic, "a", "b")
    stream.run(df=df)
    first = recorded_ids(stream)
    assert list(first["0"]) == [topic]
    stream.run(df=df)
    assert recorded_ids(stream) == first
    recreate(kafka, topic)
    produce(kafka, topic, "c", "d", "e")
    with pytest.raises(StartRefusedError, match="HF324 kafka-topic-recreated") as refused:
        stream.run(df=df)
    assert recorded_ids(stream) == first, "a start that was refused records nothing"
    assert "2 records" in str(refused.value)
    stream.run(df=df, accept=f"HF324:{refused.value.nonces['HF324']}")
    assert stream.rows() == ["a", "b", "e"], "as accepted: c and d are lost"
    assert recorded_ids(stream) != first
    stream.run(df=df)


def test_aborted_records_stay_out_and_a_removed_isolation_level_is_said(
    stream: Stream, kafka: Kafka, *, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": topic})
    producer.init_transactions()
    ends = (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    for value, end in zip("axb", ends, strict=True):
        producer.begin_transaction()
        producer.produce(topic, value.encode())
        end()
    committed = {"kafka.isolation.level": "read_committed"}
    stream.run(df=read(stream, kafka.address, topic, **committed))
    assert stream.rows() == ["a", "b"]
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        stream.run(df=read(stream, kafka.address, topic))
    assert "kafka.isolation.level=read_committed" in caplog.text
    assert stream.rows() == ["a", "b"], "what was passed over is not read again"


def test_a_broker_that_does_not_answer_is_noted_and_holds_no_start_up(
    *,
    stream: Stream,
    kafka: Kafka,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    df = read(stream, kafka.address, topic)
    produce(kafka, topic, "a")
    stream.run(df=df)
    first = recorded_ids(stream)
    produce(kafka, topic, "b")
    with monkeypatch.context() as patched, caplog.at_level(logging.INFO, logger="holdfast"):
        patched.setattr(kafka_client, "ANSWER_S", -1.0)
        stream.run(df=df)
    assert f"source 0, kafka {topic}, was not looked at: the broker did not answer" in caplog.text
    assert recorded_ids(stream) == {}
    assert stream.rows() == ["a", "b"]
    recreate(kafka, topic)
    produce(kafka, topic, "c", "d", "e")
    with pytest.raises(StartRefusedError, match="HF324"):
        stream.run(df=df)  # compared with the ids of the run before the last
    assert recorded_ids(stream) == {}
    assert first["0"][topic]


def test_no_secret_is_in_what_is_said_of_a_broker(
    stream: Stream, capfd: pytest.CaptureFixture[str]
) -> None:
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": 'x.y.Module required username="u" password="hunter2";',
    }
    (client,) = find_kafka_clients(read(stream, "127.0.0.1:9", "sensors", **options)).values()
    with pytest.raises(CannotAskError) as raised:
        client.describe(["sensors"])
    assert raised.value.__suppress_context__
    for text in (repr(client), str(raised.value), capfd.readouterr().err):
        assert "hunter2" not in text


def test_what_asking_adds_to_a_start_is_little(stream: Stream, kafka: Kafka, topic: str) -> None:
    """Once the classes are loaded."""
    (client,) = find_kafka_clients(read(stream, kafka.address, topic)).values()
    client.describe([topic])
    began = time.monotonic()
    client.describe([topic])
    took = time.monotonic() - began
    print(f"asking took {took * 1000:.0f} ms")
    assert took < kafka_client.ANSWER_S
