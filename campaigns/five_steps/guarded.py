"""The same reset as a plan: two guarded stages, `holdfast plan reset --cascade`, apply, start."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.commands import holdfast
from campaigns.five_steps.by_hand import Outcome, Row
from campaigns.five_steps.servers import EXPIRED, FIRST, MESSAGES, PER_BATCH, Servers, expire
from campaigns.five_steps.stages import LAST, RAW, SCHEMA, WRONG
from campaigns.streams.sensors_scenario import send
from examples.sensors.messages import PARTITIONS, Message, make_messages
from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.plan_file import Plan, decode_plan
from holdfast.proof.multiset import compare

DSN = "FIVE_STEPS_DSN"
_TABLE = 'create table readings (partition int, "offset" bigint, sensor_id text)'
_ROWS = 'select partition, "offset", sensor_id from readings'


@dataclass(kw_only=True)
class Guarded:
    """Two guarded stages; the last one goes to Delta or to PostgreSQL."""

    servers: Servers
    kind: str
    name: str
    has_bug: bool = True
    sent: list[Message] = field(default_factory=list)
    unsent: list[Message] = field(default_factory=lambda: make_messages(MESSAGES, seed=1))
    answers: list[str] = field(default_factory=list)
    """What the commands printed."""
    told: str = ""
    """What a plan does more than the steps, once it was seen to."""

    def __post_init__(self) -> None:
        self.servers.kafka.create_topic(self.name, partitions=PARTITIONS)
        os.environ[DSN] = self.servers.postgres.create_database(self.name)
        with psycopg.connect(os.environ[DSN]) as connection:
            connection.execute(_TABLE)
        # A stage is built before the one that it reads has run for the first time.
        empty = self.servers.spark.createDataFrame([], SCHEMA)
        empty.write.format("delta").save(str(self.place / RAW))

    @property
    def place(self) -> Path:
        """Return where its files are."""
        return self.servers.scratch / self.name

    @property
    def root(self) -> str:
        """Return the root of its streams."""
        return str(self.place / "streams")

    def send(self, count: int) -> None:
        """Send the next messages."""
        part, self.unsent = self.unsent[:count], self.unsent[count:]
        send(self.servers.kafka, self.name, part)
        self.sent += part

    def pipeline(self) -> hf.Pipeline:
        """Return the two stages, as their code is now."""
        made = hf.Pipeline("five-steps", root=self.root)
        raw = str(self.place / RAW)
        last = hf.Delta(path=str(self.place / LAST))
        into = last if self.kind == "delta" else hf.Postgres(f"env:{DSN}", table="readings")

        @made.stream(RAW, into=hf.Delta(path=raw), trigger={"availableNow": True})
        def read_topic(spark: SparkSession) -> DataFrame:
            return self._read_topic(spark)

        @made.stream(LAST, into=into, trigger={"availableNow": True})
        def read_raw(spark: SparkSession) -> DataFrame:
            return spark.readStream.format("delta").load(raw)

        return made

    def _read_topic(self, spark: SparkSession) -> DataFrame:
        messages = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.servers.kafka.address)
            .option("subscribe", self.name)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", PER_BATCH)
            .load()
        )
        name = F.col("key").cast("string")
        if self.has_bug:
            name = F.when(F.col("offset") % 10 == 0, F.concat(F.lit(WRONG), name)).otherwise(name)
        return messages.select("partition", "offset", name.alias("sensor_id"))

    def run(self) -> None:
        """Let both stages read all there is, the first one first."""
        for name in (RAW, LAST):
            query = self.pipeline().start(self.servers.spark, only=[name])[name]
            query.awaitTermination()

    def plan(self, *options: str) -> Plan | None:
        """Plan the reset of the first stage; None if that is refused, and why is noted."""
        file = self.place / "plan.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        given = ("--from", "earliest", "--output", "truncate", "-o", str(file))
        code, said = holdfast("plan", "reset", RAW, "--root", self.root, *given, *options)
        if code != 0:
            self.answers.append(said)
            return None
        return decode_plan(file.read_bytes(), str(file))

    def apply(self, *words: str) -> int:
        """Apply the plan with some words; return the exit code."""
        allowed = [part for word in words for part in ("--allow", word)]
        code, said = holdfast("apply", str(self.place / "plan.json"), "--execute", *allowed)
        self.answers.append(said)
        return code

    def rows(self) -> list[Row]:
        """Return what the last table holds."""
        if self.kind == "postgres":
            with psycopg.connect(os.environ[DSN]) as connection:
                return connection.execute(_ROWS).fetchall()
        table = self.servers.spark.read.format("delta").load(str(self.place / LAST))
        found = table.select("partition", "offset", "sensor_id").collect()
        return [(row.partition, row.offset, row.sensor_id) for row in found]

    def outcome(self) -> Outcome:
        """Compare the last table with every message that was sent, the expired ones too."""
        wanted = [(each.partition, each.offset, each.key.decode()) for each in self.sent]
        return Outcome(difference=compare(wanted, self.rows()), failed=self.told)


def _reset(pipeline: Guarded) -> None:
    """Plan with everything downstream, apply, start."""
    plan = pipeline.plan("--cascade")
    assert plan is not None, pipeline.answers
    assert pipeline.apply(*plan.words) == ExitCode.DONE, pipeline.answers
    pipeline.send(MESSAGES - FIRST)
    pipeline.run()


def _broken(pipeline: Guarded) -> None:
    pipeline.send(FIRST)
    pipeline.run()
    assert any(row[2].startswith(WRONG) for row in pipeline.rows()), "no bug to repair"
    pipeline.has_bug = False


def every_stage(pipeline: Guarded) -> None:
    """The reset with everything downstream."""
    _broken(pipeline)
    _reset(pipeline)


def first_stage_only(pipeline: Guarded) -> None:
    """Without `--cascade` it is refused; then with it."""
    _broken(pipeline)
    assert pipeline.plan() is None, "the stage below was not found"
    assert f"{LAST} read" in pipeline.answers[-1], pipeline.answers
    pipeline.told = "without `--cascade` there is no plan: it names the stage below"
    _reset(pipeline)


def some_expired(pipeline: Guarded) -> None:
    """The plan counts what is gone, and needs a word for it."""
    _broken(pipeline)
    expire(pipeline.servers, pipeline.name)
    plan = pipeline.plan("--cascade")
    assert plan is not None, pipeline.answers
    lost = [each for part in plan.impact for each in part.changes if each.kind == "loses"]
    assert [each.amount for each in lost] == [EXPIRED], lost
    without = [word for word in plan.words if not word.startswith("skips-data")]
    assert pipeline.apply(*without) == ExitCode.REFUSED
    pipeline.told = f"the plan counts {EXPIRED} lost, and needs `--allow skips-data`"
    _reset(pipeline)


def not_really_stopped(pipeline: Guarded) -> None:
    """The plan is refused while the stream runs; stopped, it is carried out."""
    _broken(pipeline)
    plan = pipeline.plan("--cascade")
    assert plan is not None, pipeline.answers
    running = pipeline.pipeline().start(
        pipeline.servers.spark, only=[RAW], trigger={"processingTime": "1 second"}
    )[RAW]
    try:
        assert pipeline.apply(*plan.words) == ExitCode.REFUSED
        pipeline.told = "`apply` refuses while the stream runs"
    finally:
        running.stop()
    _reset(pipeline)


VARIANTS: dict[str, Callable[[Guarded], None]] = {
    "every stage": every_stage,
    "first stage only": first_stage_only,
    "every stage, 50 records expired": some_expired,
    "every stage, the old driver still runs": not_really_stopped,
}
KINDS = {"delta": "hf.Delta, by a plan", "postgres": "hf.Postgres, by a plan"}
