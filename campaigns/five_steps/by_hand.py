"""The five steps by hand: stop, clear the output, delete the checkpoint, earliest, start."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from pyspark.errors import AnalysisException, StreamingQueryException

from campaigns.five_steps import stages
from campaigns.five_steps.servers import FIRST, MESSAGES, PER_BATCH, Servers, expire
from campaigns.five_steps.stages import LAST, RAW, STAGES, kind_of, start_stage
from campaigns.streams.sensors_scenario import send
from examples.sensors.messages import PARTITIONS, Message, make_messages
from holdfast.drills.kill import Driver, Rename
from holdfast.drills.kill.waiting import wait_until
from holdfast.proof.multiset import Difference, compare
from lab.spark import environment

_TABLE = 'create table readings (partition int, "offset" bigint, sensor_id text, batch_id int)'
_ROWS = 'select partition, "offset", sensor_id from readings'
Row = tuple[int, int, str]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a cell left in the last table, and what Spark said if a stage failed."""

    difference: Difference
    failed: str = ""


@dataclass(kw_only=True)
class Pipeline:
    """Two stages of one kind, with a topic, outputs and checkpoints of their own."""

    servers: Servers
    kind: str
    name: str
    has_bug: bool = True
    sent: list[Message] = field(default_factory=list)
    unsent: list[Message] = field(default_factory=lambda: make_messages(MESSAGES, seed=1))
    failed: str = ""
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.servers.kafka.create_topic(self.name, partitions=PARTITIONS)
        for stage in STAGES:
            self.use_new_output(stage)

    @property
    def place(self) -> Path:
        """Return where its files are."""
        return self.servers.scratch / self.name

    @property
    def config(self) -> dict[str, Any]:
        """Return what a stage needs to know."""
        return {
            "kind": self.kind,
            "bootstrap": self.servers.kafka.address,
            "topic": self.name,
            "per_batch": PER_BATCH,
            "has_bug": self.has_bug,
            "outputs": self.outputs,
            "checkpoints": {stage: str(self.place / f"checkpoint-{stage}") for stage in STAGES},
        }

    def send(self, count: int) -> None:
        """Send the next messages."""
        part, self.unsent = self.unsent[:count], self.unsent[count:]
        send(self.servers.kafka, self.name, part)
        self.sent += part

    def use_new_output(self, stage: str) -> None:
        """Step 2, the other way: name a table that does not exist yet."""
        number = self.outputs.get(stage, {}).get("number", 0) + 1
        found: dict[str, Any] = {"number": number, "target": str(self.place / f"{stage}-{number}")}
        if kind_of(stage, self.kind).startswith("jdbc"):
            database = f"{self.name}_{number}"
            found["dsn"] = self.servers.postgres.create_database(database)
            found["target"] = self.servers.postgres.jdbc_url(database)
            with psycopg.connect(found["dsn"]) as connection:
                connection.execute(_TABLE)
        self.outputs[stage] = found

    def clear(self, stage: str) -> None:
        """Step 2: take every row away."""
        where, kind = self.outputs[stage], kind_of(stage, self.kind)
        if kind.startswith("jdbc"):
            with psycopg.connect(where["dsn"]) as connection:
                connection.execute("truncate readings")
        elif kind.startswith("delta"):
            self.servers.spark.sql(f"delete from delta.`{where['target']}`")  # noqa: S608 - ours
        else:
            shutil.rmtree(where["target"])

    def delete_checkpoint(self, stage: str) -> None:
        """Step 3."""
        shutil.rmtree(self.config["checkpoints"][stage], ignore_errors=True)

    def run(self) -> None:
        """Let every stage read all there is; what one of them fails with is noted."""
        for stage in STAGES:
            query = start_stage(self.servers.spark, stage, self.config, once=True)
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                self.failed = f"the {stage} stage fails: {_find_condition(str(error))}"
                return

    def old_driver(self) -> Driver:
        """Return the first stage as a process of its own."""
        directory = self.place / "driver"
        return Driver(
            [stages.__file__, RAW, json.dumps(self.config)],
            environment=environment(directory, {"spark.master": "local[1]"}),
            directory=directory,
        )

    @contextmanager
    def driver_that_runs_on(self) -> Iterator[None]:
        """Run the first stage in a process of its own, which nobody stops."""
        with self.old_driver().start() as running:
            yield
            running.kill()
            running.wait()

    def rows(self, stage: str) -> list[Row]:
        """Return what a table holds."""
        where, kind = self.outputs[stage], kind_of(stage, self.kind)
        if kind.startswith("jdbc"):
            with psycopg.connect(where["dsn"]) as connection:
                return connection.execute(_ROWS).fetchall()
        form = "delta" if kind.startswith("delta") else "parquet"
        try:
            table = self.servers.spark.read.format(form).load(where["target"])
        except AnalysisException:
            return []  # nothing was ever written there
        found = table.select("partition", "offset", "sensor_id").collect()
        return [(row.partition, row.offset, row.sensor_id) for row in found]

    def outcome(self) -> Outcome:
        """Compare the last table with every message that was sent, the expired ones too."""
        wanted = [(each.partition, each.offset, each.key.decode()) for each in self.sent]
        return Outcome(difference=compare(wanted, self.rows(LAST)), failed=self.failed)


def _find_condition(text: str) -> str:
    """Return the name of the error inside of what Spark says."""
    found = [each for each in re.findall(r"\[([A-Z][A-Z_.]+)\]", text) if each != "STREAM_FAILED"]
    return found[0] if found else " ".join(text.split())[:160]


def _broken(pipeline: Pipeline) -> None:
    """Bring the first messages through the bug, and correct it."""
    pipeline.send(FIRST)
    pipeline.run()
    assert any(row[2].startswith(stages.WRONG) for row in pipeline.rows(LAST)), "no bug to repair"
    pipeline.has_bug = False


def _restart(pipeline: Pipeline) -> None:
    """Steps 4 and 5: the code says earliest already."""
    pipeline.send(MESSAGES - FIRST)
    pipeline.run()


def every_stage(pipeline: Pipeline) -> None:
    """All five steps, on both stages."""
    _broken(pipeline)
    for stage in STAGES:
        pipeline.clear(stage)
        pipeline.delete_checkpoint(stage)
    _restart(pipeline)


def every_stage_new_table(pipeline: Pipeline) -> None:
    """All five steps on both stages, with new tables for step 2."""
    _broken(pipeline)
    for stage in STAGES:
        pipeline.use_new_output(stage)
        pipeline.delete_checkpoint(stage)
    _restart(pipeline)


def first_stage_only(pipeline: Pipeline) -> None:
    """All five steps, on the stage that had the bug."""
    _broken(pipeline)
    pipeline.clear(RAW)
    pipeline.delete_checkpoint(RAW)
    _restart(pipeline)


def without_step_2(pipeline: Pipeline) -> None:
    """Both stages, and the outputs are not cleared."""
    _broken(pipeline)
    for stage in STAGES:
        pipeline.delete_checkpoint(stage)
    _restart(pipeline)


def some_expired(pipeline: Pipeline) -> None:
    """All five steps on both stages, and 50 records are gone from the topic."""
    _broken(pipeline)
    expire(pipeline.servers, pipeline.name)
    for stage in STAGES:
        pipeline.clear(stage)
        pipeline.delete_checkpoint(stage)
    _restart(pipeline)


def not_really_stopped(pipeline: Pipeline) -> None:
    """All five steps on both stages, while the old driver of the first one still runs."""
    pipeline.send(FIRST)
    with pipeline.driver_that_runs_on():
        assert wait_until(lambda: len(pipeline.rows(RAW)) >= FIRST, seconds=120), "it does not run"
        start_stage(pipeline.servers.spark, LAST, pipeline.config, once=True).awaitTermination()
        pipeline.has_bug = False
        for stage in STAGES:
            pipeline.clear(stage)
            pipeline.delete_checkpoint(stage)
        pipeline.send(MESSAGES - FIRST)
        wait_until(lambda: _has_wrong(pipeline), seconds=20)  # or it has failed by itself
        pipeline.run()
    failed, pipeline.failed = pipeline.failed, ""
    pipeline.run()  # started again, as one would after a failure
    pipeline.failed = pipeline.failed or (f"at first, {failed}" if failed else "")


def paused_in_a_batch(pipeline: Pipeline) -> None:
    """All five steps on both stages, while the old driver stands still within a batch."""
    pipeline.send(FIRST)
    in_a_batch = Rename("after", "offsets/1")
    with pipeline.old_driver().start(in_a_batch, strike=signal.SIGSTOP) as old:
        old.wait_until_halted()
        start_stage(pipeline.servers.spark, LAST, pipeline.config, once=True).awaitTermination()
        pipeline.has_bug = False
        for stage in STAGES:
            pipeline.clear(stage)
            pipeline.delete_checkpoint(stage)
        _restart(pipeline)
        old.resume()
        assert wait_until(lambda: _has_wrong(pipeline) or _has_ended(old.pid), seconds=120)
        old.kill()
        old.wait()
    pipeline.run()


def _has_ended(group: int) -> bool:
    """Return whether no process of a group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def _has_wrong(pipeline: Pipeline) -> bool:
    return any(row[2].startswith(stages.WRONG) for row in pipeline.rows(RAW))


VARIANTS: dict[str, Callable[[Pipeline], None]] = {
    "every stage": every_stage,
    "every stage, new tables": every_stage_new_table,
    "first stage only": first_stage_only,
    "every stage, without step 2": without_step_2,
    "every stage, 50 records expired": some_expired,
    "every stage, the old driver still runs": not_really_stopped,
    "every stage, the old driver is in a batch": paused_in_a_batch,
}
