"""The mission on plain streams: the bug, the refusals, the reset, and both ways to take it back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from pyspark.sql import SparkSession

from campaigns.plain_mission.looking import (
    Everything,
    compare_with_raw,
    look,
    rows_of,
)
from campaigns.plain_mission.program import (
    RAW,
    SERVING_TABLES,
    SINKS,
    STREAMS,
    TABLES,
    TYPED,
    run,
    run_below,
    start_raw,
    start_typed,
)
from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import answers
from examples.sensors.judge import judge
from examples.sensors.messages import Message, make_messages
from examples.sensors.settings import DSN_NAME, Sensors
from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.plan_file import decode_plan
from holdfast.proof.multiset import Difference
from lab import S3, Kafka, Postgres
from lab.s3 import ACCESS_KEY, REGION, SECRET_KEY
from lab.spark import end_jvm, start_session

_DATABASE = frozenset({"latest", "product_usage"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The servers, and how much is sent."""

    kafka: Kafka
    postgres: Postgres
    s3: S3
    scratch: Path
    count: int
    seed: int

    def sensors(self, store: str) -> Sensors:
        """Return a pipeline of its own, on the local disk or on S3."""
        made = make_scenario(
            self.kafka,
            self.postgres,
            messages_per_batch=max(250, self.count // 8),
            serving_table=SERVING_TABLES,
        )
        os.environ[DSN_NAME] = made.dsn
        os.environ.update(
            AWS_ENDPOINT_URL=self.s3.address,
            AWS_ACCESS_KEY_ID=ACCESS_KEY,
            AWS_SECRET_ACCESS_KEY=SECRET_KEY,
            AWS_REGION=REGION,
            AWS_ALLOW_HTTP="true",
        )
        lake = made.lake if store == "s3" else str(self.scratch / made.topic)
        return Sensors(
            bootstrap=made.bootstrap,
            topic=made.topic,
            lake=lake,
            checkpoints=f"{lake}/checkpoints",
            dsn=made.dsn,
            messages_per_batch=made.messages_per_batch,
        )

    def session(self) -> SparkSession:
        """Start a Spark session."""
        return start_session(self.scratch, self.s3.spark_settings())


_LATER = """
from datetime import UTC, datetime, timedelta
from holdfast import clock
clock.now = lambda: datetime.now(tz=UTC) + timedelta(hours=2)
from holdfast.cli.main import run
run()
"""


def holdfast(*words: str) -> tuple[int, str]:
    """Run the command in a process of its own; return its exit code and what it wrote.

    By its clock it is two hours later: the programs have been quiet for long enough.
    """
    command = [sys.executable, "-c", _LATER, *words]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    said = ended.stdout + ended.stderr
    click.echo(f"$ holdfast {' '.join(words)}\n{said}exit {ended.returncode}")
    return ended.returncode, said


@dataclass(slots=True, kw_only=True)
class Mission:
    """One pipeline, from the first message to the last comparison."""

    bench: Bench
    spark: SparkSession
    sensors: Sensors
    store: str
    sent: list[Message]
    shown: list[tuple[str, bool]] = field(default_factory=list)
    """What was to be shown, and whether it held."""
    tables: dict[str, Difference] = field(default_factory=dict)
    """How each table differs after the reset and the fixed program."""

    def show(self, what: str, holds: bool, *, but: object = "") -> None:
        """Note whether something held."""
        click.echo(f"{'ok  ' if holds else 'NOT '}{self.store}: {what} {'' if holds else but}")
        self.shown.append((what, holds))

    @property
    def plan_file(self) -> str:
        """Where the plan is written."""
        return str(self.bench.scratch / f"{self.sensors.topic}.json")

    def plan(self, *words: str) -> tuple[int, str]:
        """Plan the reset of the first stage, as a user would."""
        sensors = self.sensors
        sinks = ["--sink", sensors.table("raw")]
        for stream, tables in SINKS.items():
            for each in tables:
                place = f"env:{DSN_NAME}#{each}" if each in _DATABASE else sensors.table(each)
                sinks += ["--sink", f"{stream}={place}"]
        return holdfast(
            *("plan", "reset", f"{sensors.checkpoints}/{RAW}", "--from", "earliest"),
            *("--output", "truncate", "--among", sensors.checkpoints, *words, *sinks),
            *("--source", sensors.bootstrap, "-o", self.plan_file),
        )

    def send(self, part: Sequence[Message]) -> None:
        """Send messages, which are the next ones."""
        send(self.bench.kafka, self.sensors.topic, part)

    def look(self) -> Everything:
        """Return everything, as it is now."""
        return look(self.spark, self.sensors)

    def words(self) -> list[str]:
        """Return the options that allow what the plan needs."""
        plan = decode_plan(Path(self.plan_file).read_bytes(), self.plan_file)
        return [part for word in plan.words for part in ("--allow", word)]

    def end_drivers(self) -> None:
        """Let the JVM end and another begin: Spark uploads state while the old one lives."""
        end_jvm(self.spark)
        self.spark = self.bench.session()

    def apply(self, before: Everything) -> str:
        """Plan, rehearse and apply; return the journal."""
        self.end_drivers()
        code, said = self.plan("--cascade")
        in_order = all(f"  {each}" in said for each in STREAMS)
        self.show("the plan names every stream", code == ExitCode.DONE and in_order)
        code, _ = holdfast("apply", self.plan_file)
        self.show("the rehearsal ends", code == ExitCode.DONE)
        code, _ = holdfast("apply", self.plan_file, "--execute", *self.words()[2:])
        self.show("refused without a word", code == ExitCode.REFUSED)
        self.show("nothing was changed by that", not before.unlike(self.look()))
        code, said = holdfast("apply", self.plan_file, "--execute", *self.words())
        self.show("the plan is carried out", code == ExitCode.DONE)
        empty = all(not rows for rows in rows_of(self.spark, self.sensors).values())
        self.show("every table is empty", empty)
        self.remove_markers(said)
        found = re.search(r"^Undo: holdfast undo (\S+)$", said, re.MULTILINE)
        assert found is not None, said
        return found[1]

    def remove_markers(self, said: str) -> None:
        """Do what a plan on S3 leaves to the person, with Spark's own client."""
        places = re.findall(r"aws s3 rm --recursive s3://(\S+)$", said, re.MULTILINE)
        self.show("a plan on S3 names the old state", len(places) == 2 * (self.store == "s3"))
        jvm: Any = self.spark._jvm  # noqa: SLF001 - Python has no other way
        settings = self.spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - the same
        for each in places:
            path = jvm.org.apache.hadoop.fs.Path(f"s3a://{each}")
            path.getFileSystem(settings).delete(path, True)

    def undo(self, journal: str, before: Everything) -> None:
        """Take the plan back, as a user would, and compare with what was there before."""
        code, said = holdfast("undo", journal)
        words = re.findall(r"--allow (\S+)", said)
        allowed = [part for each in dict.fromkeys(words) for part in ("--allow", each)]
        self.show("the undo is rehearsed", code == ExitCode.DONE)
        code, _ = holdfast("undo", journal, "--execute", *allowed)
        self.show("the undo is carried out", code == ExitCode.DONE)
        unlike = before.unlike_undone(self.look())
        self.show("every table and every checkpoint is as before", not unlike, but=unlike)

    def goes_on(self, before: Everything, *, new: Sequence[Message] = ()) -> None:
        """Run the programs after an undo: rows come once, and none is missing."""
        run(self.spark, self.sensors, bug=False)
        raw = Counter((self.sensors.topic, *row) for row in answers.raw_rows(new))
        there = rows_of(self.spark, self.sensors)["raw"]
        self.show("raw has its rows and the new ones", there == before.rows["raw"] + raw)
        found = compare_with_raw(self.spark, self.sensors)
        wrong = {each: how for each, how in found.items() if not how.exact}
        self.show("every other table is what raw must become", not wrong, but=wrong)


def play(bench: Bench, store: str) -> Mission:
    """Play the whole mission on one store."""
    sent = make_messages(bench.count, seed=bench.seed)
    first, some, rest = (
        sent[: bench.count // 2],
        sent[bench.count // 2 : bench.count * 3 // 4],
        sent[bench.count * 3 // 4 :],
    )
    sensors = bench.sensors(store)
    mission = Mission(bench=bench, spark=bench.session(), sensors=sensors, store=store, sent=sent)
    mission.send(first)
    run(mission.spark, sensors, bug=True)
    broken = judge(mission.spark, sensors, first, tables=TABLES)
    bad = [each for each in TABLES if not broken[each].exact]
    mission.show("the bug is in every table", bad == [*TABLES], but=bad)
    _refuse(mission, some)
    before = mission.look()
    mission.undo(mission.apply(before), before)
    mission.goes_on(before)
    before = mission.look()
    journal = mission.apply(before)
    mission.send(rest)
    run(mission.spark, sensors, bug=False)
    mission.tables = judge(mission.spark, sensors, sent, tables=TABLES)
    exact = all(each.exact for each in mission.tables.values())
    mission.show("every table is exact", exact, but=mission.tables)
    mission.end_drivers()
    mission.undo(journal, before)
    mission.goes_on(before, new=rest)
    end_jvm(mission.spark)
    return mission


def _refuse(mission: Mission, some: Sequence[Message]) -> None:
    """Refuse without --cascade, and while a stream in between is running."""
    spark, sensors = mission.spark, mission.sensors
    code, said = mission.plan()
    named = code == ExitCode.REFUSED and "With --cascade" in said
    mission.show("refused without --cascade", named and all(each in said for each in STREAMS))
    mission.send(some)
    start_raw(spark, sensors, bug=True).awaitTermination()
    mission.plan("--cascade")
    running = start_typed(spark, sensors, every={"processingTime": "1 second"})
    try:
        running.processAllAvailable()
        code, said = holdfast("apply", mission.plan_file, "--execute", *mission.words())
        refused = code == ExitCode.REFUSED and TYPED in said
        mission.show("refused while a stream in between is running", refused, but=said)
        there = all(rows_of(spark, sensors).values())
        mission.show("nothing was emptied by that", running.isActive and there)
    finally:
        running.stop()
    run_below(spark, sensors)
