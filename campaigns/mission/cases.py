"""The three ways to repair the pipeline, each from the first message to the comparison."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from campaigns.commands import holdfast
from campaigns.mission.broken import make_broken, run_plain_broken
from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import guarded, plain
from examples.sensors.judge import judge
from examples.sensors.messages import Message, make_messages
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.plan_file import Plan, decode_plan
from holdfast.proof.multiset import Difference
from holdfast.storage.open import open_reader
from lab import S3, Kafka, Postgres
from lab.s3 import ACCESS_KEY, REGION, SECRET_KEY
from lab.spark import end_jvm, start_session

STREAM = "sensor-raw-ingest"
STREAMS = (
    STREAM,
    "sensor-deserialize",
    "sensor-quarantine",
    "sensor-merge-gold",
    "product-usage",
)
Everything = tuple[dict[str, str], list[Any]]
"""Objects by path, and the rows of each table."""
_EVERY_ROW = (
    "select to_jsonb(t)::text from latest t order by 1",
    "select to_jsonb(t)::text from product_usage t order by 1",
    "select to_jsonb(t)::text from holdfast.ledger t order by 1",
)


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
        os.environ[DSN_NAME] = made.dsn
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
            end_jvm(spark)


def plan_reset(sensors: Sensors, file: Path) -> tuple[Plan, str]:
    """Plan the reset of the first stage and of everything below it; return what was said too."""
    code, said = holdfast(
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
    return decode_plan(file.read_bytes(), str(file)), said


def says_lost(plan: Plan, said: str, gone: int) -> bool:
    """Return whether a plan says, in its file and in words, how many records are gone for good."""
    changes = [each for part in plan.impact for each in part.changes if each.kind == "loses"]
    counted = [(each.amount, each.unit) for each in changes] == ([(gone, "record")] if gone else [])
    shown = re.search(r"^ *lost for good +(.*)$", said, re.MULTILINE)
    in_words = f"{gone:,} records" if gone else "nothing"
    asked = any(word.startswith("skips-data:") for word in plan.words)
    return counted and shown is not None and shown[1] == in_words and asked == bool(gone)


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
    sensors = bench.sensors(guarded.SERVING_TABLES)
    file = bench.scratch / f"{name}.json"
    with bench.session() as spark:
        send(bench.kafka, sensors.topic, sent[: bench.count // 2])
        guarded.run_pipeline(make_broken(sensors), spark)
        before = judge(spark, sensors, sent[: bench.count // 2])
        assert not before["raw"].exact, "the bug has to show"
        gone = expire(sensors)
        untouched = _everything(bench, sensors)
        plan, said = plan_reset(sensors, file)
        is_said = says_lost(plan, said, gone)
        _rehearse_and_apply(bench, sensors, file, words=plan.words, untouched=untouched)
        send(bench.kafka, sensors.topic, sent[bench.count // 2 :])
        guarded.run_once(spark, sensors)
        left = [each for each in sent if each.partition != 0 or each.offset >= gone]
        tables = judge(spark, sensors, left)
        kept = _generations(sensors)
    exact = all(each.exact for each in tables.values())
    return Result(name=name, tables=tables, is_as_said=exact and is_said and kept)


def _rehearse_and_apply(
    bench: Bench, sensors: Sensors, file: Path, *, words: Sequence[str], untouched: Everything
) -> None:
    """Rehearse, refuse without the words for what is lost and emptied, and carry it out."""
    for options in ([], *(["--execute", *allowing(words, each)] for each in _kinds(words))):
        code, _ = holdfast("apply", str(file), *options)
        assert code == (ExitCode.REFUSED if options else ExitCode.DONE), code
        assert _everything(bench, sensors) == untouched, "nothing may be touched yet"
    code, _ = holdfast("apply", str(file), "--execute", *allowing(words))
    assert code == ExitCode.DONE, code


def _kinds(words: Sequence[str]) -> list[str]:
    """Return what the words allow, each once: `skips-data`, `destructive`."""
    return sorted({word.partition(":")[0] for word in words})


def _everything(bench: Bench, sensors: Sensors) -> Everything:
    """Return every object of the pipeline by its content's tag, and every row of its database."""
    prefix = sensors.lake.removeprefix("s3a://lake/")
    pages = bench.s3.store().list(prefix)
    objects = {each["path"]: str(each["e_tag"]) for page in pages for each in page}
    with psycopg.connect(sensors.dsn) as connection:
        rows = [connection.execute(each).fetchall() for each in _EVERY_ROW]
    assert objects, prefix
    return objects, rows


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
    _delete(bench, sensors)  # once Spark has ended: it uploads state in the background
    with bench.session() as spark:
        send(bench.kafka, sensors.topic, sent[bench.count // 2 :])
        plain.run_once(spark, sensors)
        tables = judge(spark, sensors, sent, tables=plain.TABLES)
    return Result(name="by hand", tables=tables, is_as_said=True)


def _delete(bench: Bench, sensors: Sensors) -> None:
    store = bench.s3.store()
    prefix = sensors.checkpoints.removeprefix("s3a://lake/")
    for page in store.list(prefix):
        for each in page:
            store.delete(each["path"])
