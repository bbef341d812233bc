"""The reference pipeline end to end, on Kafka, S3, Delta and PostgreSQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import guarded
from examples.sensors.__main__ import deliver, make_sensors
from examples.sensors.answers import count, latest_rows
from examples.sensors.judge import judge
from examples.sensors.messages import Message, make_messages
from examples.sensors.plain import TABLES, run_once
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.checkpoint import OffsetEntry, QueryMetadata, read_checkpoint
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.registry import parse_offset
from holdfast.storage import open_reader
from holdfast.storage.options import from_hadoop
from lab import S3, Kafka, Postgres
from tests.spark.file_stream import wait_until_given_up
from tests.stand_ins import stand_in

MESSAGES = 12_000
SEED = 20_261_115


@pytest.fixture(scope="module")
def sensors(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> Sensors:
    """The pipeline after two runs on the same checkpoints, half the messages before each."""
    scenario = make_scenario(kafka, postgres, messages_per_batch=MESSAGES // 2)
    sent = make_messages(MESSAGES, seed=SEED)
    for part in (sent[: MESSAGES // 2], sent[MESSAGES // 2 :]):
        send(kafka, scenario.topic, part)
        run_once(spark, scenario)
    return scenario


def test_every_table_holds_exactly_what_was_sent(spark: SparkSession, sensors: Sensors) -> None:
    differences = judge(spark, sensors, make_messages(MESSAGES, seed=SEED), tables=TABLES)
    assert set(differences) == {"raw", "typed", "quarantine", "gold", "postgres"}
    assert {name: found for name, found in differences.items() if not found.exact} == {}
    assert differences["raw"].expected == MESSAGES


def without_one(sent: list[Message], kind: str) -> list[Message]:
    """Leave one message out: a sensor's latest reading, one that came again, or a bad one."""
    times = Counter(each.becomes for each in sent)
    newest = {row[0] for row in latest_rows(sent)}

    def is_it(message: Message) -> bool:
        if isinstance(message.becomes, str):
            return kind == "a-bad-message"
        if times[message.becomes] > 1:
            return kind == "a-redelivered-one"
        return kind == "a-reading" and message.becomes.reading_id in newest

    at = next(number for number, message in enumerate(sent) if is_it(message))
    return sent[:at] + sent[at + 1 :]


TOUCHED = {
    "a-reading": {"raw", "typed", "gold"},
    "a-redelivered-one": {"raw"},
    "a-bad-message": {"raw", "quarantine"},
}


@pytest.mark.parametrize("kind", TOUCHED)
def test_the_judge_finds_one_message_too_many_in_every_table_it_touches(
    spark: SparkSession, sensors: Sensors, kind: str
) -> None:
    """The checker itself is checked: held against one message less, the tables have one more."""
    less = without_one(make_messages(MESSAGES, seed=SEED), kind)
    differences = judge(spark, sensors, less, tables=TABLES)
    served = {"postgres"} if kind == "a-reading" else set()
    assert {name for name, each in differences.items() if not each.exact} == TOUCHED[kind] | served


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


@pytest.mark.sampled(1)  # this one or the next: the same streams, on servers and without
def test_the_guarded_pipeline_brings_the_same(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, *, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = make_messages(4_000, seed=SEED)
    scenario = make_scenario(
        kafka, postgres, messages_per_batch=len(sent), serving_table=guarded.SERVING_TABLES
    )
    monkeypatch.setenv(DSN_NAME, scenario.dsn)
    send(kafka, scenario.topic, sent)
    guarded.run_once(spark, scenario)
    wait_until_given_up()
    differences = judge(spark, scenario, sent)
    assert {name: found for name, found in differences.items() if not found.exact} == {}
    assert set(differences) == {*TABLES, "usage", "postgres usage"}
    assert differences["raw"].expected == len(sent)
    assert min(each.expected for each in differences.values()) > 0


@pytest.mark.sampled(1)
def test_without_servers_every_table_is_exact_and_a_wrong_one_is_found(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As `python -m examples.sensors` runs it: files, Delta on disk, the same checkpoints twice."""
    sensors = make_sensors(
        str(tmp_path / "lake"), kafka="", topic="sensors", postgres="", messages_per_batch=1_000
    )
    sent = make_messages(2_000, seed=SEED)
    for part in (sent[:1_000], sent[1_000:]):
        deliver(sensors, part)
        guarded.run_once(spark, sensors)
        wait_until_given_up()
    found = judge(spark, sensors, sent)
    assert set(found) == {"raw", "typed", "quarantine", "gold", "usage"}
    assert {name: each for name, each in found.items() if not each.exact} == {}
    counted = count(sent)
    assert min(counted.duplicates, counted.late, counted.too_late) > 0
    wrong = judge(spark, sensors, without_one(sent, "a-reading"))
    assert {name for name, each in wrong.items() if not each.exact} == {
        *TOUCHED["a-reading"],
        "usage",
    }


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
            raise hf.PipelineStartError("sensors", queries={"raw": stand_in(query)}, errors=failed)

    with pytest.raises(hf.PipelineStartError) as refused:
        guarded.start_all(OneStarts("sensors"), spark=None)  # type: ignore[arg-type]
    assert query.is_stopped
    (note,) = refused.value.__notes__
    assert note.startswith("sensor-quarantine was not started: Traceback")
    assert "ValueError: invalid literal" in note
    assert "password=***" in note
    assert "hidden" not in note
