"""The reference pipeline end to end, on Kafka, S3, Delta and PostgreSQL."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from examples.sensors import guarded
from examples.sensors.judge import judge
from examples.sensors.messages import latest_rows, make_messages
from examples.sensors.plain import Sensors, run_once
from examples.sensors.scenario import make_scenario, send
from holdfast.checkpoint import OffsetEntry, QueryMetadata, read_checkpoint
from holdfast.checkpoint.sources import parse_offset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.storage import open_reader
from holdfast.storage.options import from_hadoop
from lab import S3, Kafka, Postgres
from tests.spark.file_stream import wait_until_given_up

MESSAGES = 20_000
SEED = 20_261_115


@pytest.fixture(scope="module")
def sensors(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> Sensors:
    """The pipeline after two runs on the same checkpoints, half the messages before each."""
    scenario = make_scenario(kafka, postgres, messages_per_batch=MESSAGES // 4)
    sent = make_messages(MESSAGES, seed=SEED)
    for part in (sent[: MESSAGES // 2], sent[MESSAGES // 2 :]):
        send(kafka, scenario.topic, part)
        run_once(spark, scenario)
    return scenario


def test_every_table_holds_exactly_what_was_sent(spark: SparkSession, sensors: Sensors) -> None:
    differences = judge(spark, sensors, make_messages(MESSAGES, seed=SEED))
    assert set(differences) == {"raw", "typed", "quarantine", "gold", "postgres"}
    assert {name: found for name, found in differences.items() if not found.exact} == {}
    assert differences["raw"].expected == MESSAGES


@pytest.mark.parametrize(
    "touched",
    [
        {"raw", "typed", "gold", "postgres"},
        {"raw", "quarantine"},
    ],
    ids=["a-reading", "a-bad-message"],
)
def test_the_judge_finds_one_message_too_many_in_every_table_it_touches(
    spark: SparkSession, sensors: Sensors, touched: set[str]
) -> None:
    """The checker itself is checked: held against one message less, the tables have one more."""
    sent = make_messages(MESSAGES, seed=SEED)
    newest = {row[0] for row in latest_rows(sent)}
    extra = next(
        message
        for message in sent
        if ("quarantine" in touched) == isinstance(message.becomes, str)
        and (isinstance(message.becomes, str) or message.becomes.reading_id in newest)
    )
    differences = judge(spark, sensors, [message for message in sent if message is not extra])
    assert {name for name, found in differences.items() if not found.exact} == touched


def test_each_stream_has_its_own_stable_checkpoint(spark: SparkSession, sensors: Sensors) -> None:
    hadoop = spark.sparkContext._jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
    base = hadoop.Path(sensors.checkpoints)
    files = base.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    names = {status.getPath().getName() for status in files.listStatus(base)}
    assert names == {"sensor-raw-ingest", "sensor-deserialize", "sensor-merge-gold"}


def test_the_logs_of_each_checkpoint_are_read_whole(sensors: Sensors, s3: S3) -> None:
    """What Spark wrote on S3, read without Spark."""
    options = from_hadoop(s3.spark_settings(), bucket="lake")
    for stream in ("sensor-raw-ingest", "sensor-deserialize", "sensor-merge-gold"):
        reader = open_reader(f"{sensors.checkpoints}/{stream}", options)
        walked = [info.path for info in reader.walk()]
        assert not {"", "offsets", "commits", "sources"} & set(walked), "s3a's directory markers"
        assert "offsets/0" in walked
        checkpoint = read_checkpoint(reader)
        assert isinstance(checkpoint.metadata, QueryMetadata)
        assert list(checkpoint.offsets) == list(checkpoint.commits)
        assert list(checkpoint.offsets) == list(range(len(checkpoint.offsets)))
        assert (checkpoint.unparsed, checkpoint.leftovers, checkpoint.foreign) == ((), (), ())


def test_kafkas_last_offset_entry_is_the_end_of_the_topic(sensors: Sensors, s3: S3) -> None:
    options = from_hadoop(s3.spark_settings(), bucket="lake")
    checkpoint = read_checkpoint(open_reader(f"{sensors.checkpoints}/sensor-raw-ingest", options))
    last = checkpoint.offsets[max(checkpoint.offsets)]
    assert isinstance(last, OffsetEntry)
    (source,) = last.offsets
    assert source.text is not None
    sent = Counter(message.partition for message in make_messages(MESSAGES, seed=SEED))
    assert parse_offset(source.text) == KafkaOffset(partitions={sensors.topic: dict(sent)})


def test_the_guarded_pipeline_brings_the_same(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, *, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = make_messages(4_000, seed=SEED)
    scenario = make_scenario(
        kafka, postgres, messages_per_batch=len(sent), serving_table=guarded.SERVING_TABLE
    )
    monkeypatch.setenv(guarded.DSN_NAME, scenario.dsn)
    send(kafka, scenario.topic, sent)
    guarded.run_once(spark, scenario)
    wait_until_given_up()
    differences = judge(spark, scenario, sent)
    assert {name: found for name, found in differences.items() if not found.exact} == {}
    assert differences["raw"].expected == len(sent)
    assert differences["quarantine"].expected


class Query:
    """Stands for a query that runs."""

    is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True


def test_when_one_stream_does_not_start_the_others_are_stopped_and_the_cause_is_told() -> None:
    query = Query()

    class OneStarts(hf.Pipeline):
        def start(self, *_: object, **__: object) -> dict[str, Any]:
            try:
                int("password=hidden of the cause")
            except ValueError as error:
                failed: dict[str, Exception] = {"sensor-quarantine": error}
            raise hf.PipelineStartError("sensors", queries={"raw": query}, errors=failed)

    with pytest.raises(hf.PipelineStartError) as refused:
        guarded.start_all(OneStarts("sensors"), spark=None)  # type: ignore[arg-type]
    assert query.is_stopped
    (note,) = refused.value.__notes__
    assert note.startswith("sensor-quarantine was not started: Traceback")
    assert "ValueError: invalid literal" in note
    assert "password=***" in note
    assert "hidden" not in note
