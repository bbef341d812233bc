"""The three ways to repair the pipeline, each from the first message to the comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from campaigns.commands import holdfast
from campaigns.mission.broken import make_broken, run_plain_broken
from examples.sensors import guarded, plain
from examples.sensors.judge import judge
from examples.sensors.messages import Message, make_messages
from examples.sensors.plain import Sensors
from examples.sensors.scenario import make_scenario, send
from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.plan_file import Plan, decode_plan
from holdfast.proof.multiset import Difference
from holdfast.storage.open import open_reader
from lab import S3, Kafka, Postgres
from lab.s3 import ACCESS_KEY, REGION, SECRET_KEY
from lab.spark import start_session

STREAM = "sensor-raw-ingest"
STREAMS = (STREAM, "sensor-deserialize", "sensor-quarantine", "sensor-merge-gold")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of the tables, and whether that is what was said."""

    name: str
    tables: dict[str, Difference]
    is_as_said: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The servers, and how much is sent."""

    kafka: Kafka
    postgres: Postgres
    s3: S3
    scratch: Path
    count: int
    seed: int

    def sent(self) -> list[Message]:
        """Return the messages."""
        return make_messages(self.count, seed=self.seed)

    def sensors(self, serving_table: str) -> Sensors:
        """Return a pipeline of its own on the servers."""
        made = make_scenario(
            self.kafka,
            self.postgres,
            messages_per_batch=max(500, self.count // 8),
            serving_table=serving_table,
        )
        os.environ[guarded.DSN_NAME] = made.dsn
        os.environ.update(
            AWS_ENDPOINT_URL=self.s3.address,
            AWS_ACCESS_KEY_ID=ACCESS_KEY,
            AWS_SECRET_ACCESS_KEY=SECRET_KEY,
            AWS_REGION=REGION,
            AWS_ALLOW_HTTP="true",
        )
        return made

    @contextmanager
    def session(self) -> Iterator[SparkSession]:
        """Give a Spark session."""
        spark = start_session(self.scratch, self.s3.spark_settings())
        try:
            yield spark
        finally:
            spark.stop()


def plan_reset(sensors: Sensors, file: Path) -> Plan:
    """Plan the reset of the first stage and of everything below it."""
    code, _ = holdfast(
        "plan",
        "reset",
        STREAM,
        "--root",
        sensors.checkpoints,
        "--cascade",
        "--from",
        "earliest",
        "--output",
        "truncate",
        "-o",
        str(file),
        "--explain",
    )
    assert code == 0, code
    return decode_plan(file.read_bytes(), str(file))


def allowing(words: Sequence[str], *without: str) -> list[str]:
    """Return the options that allow what a plan needs, except some of it."""
    kept = [word for word in words if not word.startswith(without or ("-",))]
    return [part for word in kept for part in ("--allow", word)]


def planned(bench: Bench) -> Result:
    """Half of the messages go through the bug; then the reset is planned and applied."""
    return _reset(bench, "planned", expire=lambda _: 0)


def expired(bench: Bench) -> Result:
    """The same, with the oldest records of one partition gone from the topic."""

    def expire(sensors: Sensors) -> int:
        gone = bench.count // 40
        admin = AdminClient({"bootstrap.servers": bench.kafka.address})
        asked = admin.delete_records([TopicPartition(sensors.topic, 0, gone)])
        for future in asked.values():
            future.result()
        return gone

    return _reset(bench, "expired", expire=expire)


def _reset(bench: Bench, name: str, *, expire: Callable[[Sensors], int]) -> Result:
    sent = bench.sent()
    sensors = bench.sensors(guarded.SERVING_TABLE)
    file = bench.scratch / f"{name}.json"
    with bench.session() as spark:
        send(bench.kafka, sensors.topic, sent[: bench.count // 2])
        guarded.run_pipeline(make_broken(sensors), spark)
        before = judge(spark, sensors, sent[: bench.count // 2])
        assert not before["raw"].exact, "the bug has to show"
        gone = expire(sensors)
        plan = plan_reset(sensors, file)
        said = sum(each.amount or 0 for part in plan.impact for each in part.changes)
        words = plan.words
        code, _ = holdfast("apply", str(file))
        assert code == ExitCode.DONE, code
        if gone:
            code, _ = holdfast("apply", str(file), "--execute", *allowing(words, "skips-data"))
            assert code == ExitCode.REFUSED, code
        allow = allowing(words)
        code, _ = holdfast("apply", str(file), "--execute", *allow)
        assert code == ExitCode.DONE, code
        send(bench.kafka, sensors.topic, sent[bench.count // 2 :])
        guarded.run_once(spark, sensors)
        left = [each for each in sent if each.partition != 0 or each.offset >= gone]
        tables = judge(spark, sensors, left)
        kept = _generations(sensors)
    exact = all(each.exact for each in tables.values())
    return Result(name=name, tables=tables, is_as_said=exact and said == gone and kept)


def _generations(sensors: Sensors) -> bool:
    """Return whether the checkpoints of before are still there."""
    root = open_reader(sensors.checkpoints)
    return all(
        root.list(f"{stream}/offsets").files and root.list(f"{stream}.g2/offsets").files
        for stream in STREAMS
    )


def by_hand(bench: Bench) -> Result:
    """Stop, fix the code, delete the checkpoints, start again from earliest."""
    sent = bench.sent()
    sensors = bench.sensors(plain.SERVING_TABLE)
    with bench.session() as spark:
        send(bench.kafka, sensors.topic, sent[: bench.count // 2])
        run_plain_broken(spark, sensors)
        _delete(bench, sensors)
        send(bench.kafka, sensors.topic, sent[bench.count // 2 :])
        plain.run_once(spark, sensors)
        tables = judge(spark, sensors, sent)
    return Result(name="by hand", tables=tables, is_as_said=True)


def _delete(bench: Bench, sensors: Sensors) -> None:
    store = bench.s3.store()
    prefix = sensors.checkpoints.removeprefix("s3a://lake/")
    for page in store.list(prefix):
        for each in page:
            store.delete(each["path"])
