"""Histories on real Spark: guarded starts, PostgreSQL for copies, Delta for versions.

A driver is killed within its batch by an error at a point of the protocol: Spark's logs and the
sinks are then as a kill leaves them, and one session serves every history.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.histories.describe import first_line
from campaigns.histories.machine import FoundError, Machine
from campaigns.histories.memory_table import COLUMNS, Row
from campaigns.histories.model import StreamAccount
from campaigns.histories.postgres_tables import SECRET, PostgresBackend
from campaigns.histories.spark_logs import MicroBatch, read_batch
from holdfast import points
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.ledger.decide import Apply
from holdfast.sinks.sink import SinkSpec
from lab.postgres import Postgres
from lab.spark import start_session

_KILLS_AT = ("S1", "sink-written", "S7")
_SCHEMA = ", ".join(f"{name} string" for name in COLUMNS)
_SETTINGS = {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}


class StoppedByUsError(Exception):
    """Stands for a kill within a batch."""


class SparkMachine(Machine):
    """Plays a history on real Spark."""

    backend: SparkBackend

    @property
    def can_pause(self) -> bool:
        """No: Spark runs a batch in a thread of its own."""
        return False

    def stores(self) -> Stores:
        """Return what a plan is applied with: Delta tables are changed by Spark."""
        return Stores(session=lambda: self.backend.spark)

    def run(
        self, stream: StreamAccount, *, kill: int | None = None, takeover: bool = False
    ) -> Exception | None:
        """Start a stream and let it run, or fail at a point within a batch."""
        for each in stream.sinks:
            self.add_table(each.table, by_key=each.by_key, versions=each.keeps_versions)
        before = self.world()
        events = _Events(self, stream, kill)
        points.listen(events.hear)
        try:
            error = self._start(stream, before, takeover=takeover)
        finally:
            points.listen(None)
            _wait_given_up()
        if events.found is not None:
            raise events.found
        return None if events.is_killed else error

    def _start(
        self, stream: StreamAccount, before: dict[str, Any], *, takeover: bool
    ) -> Exception | None:
        sinks = [
            self.backend.sink(each.table, by_key=each.by_key, sequenced=each.sequenced)
            for each in stream.sinks
        ]
        try:
            query = hf.start(
                self._frame(stream),
                stream=stream.name,
                root=stream.root,
                into=sinks,
                trigger={"availableNow": True},
                takeover=takeover,
            )
        except HoldfastError as error:
            self.tell(f"start of {stream.name} refused: {first_line(error)}")
            points.listen(None)
            self.must_be(before, f"The start of {stream.name} was refused")
            self.judge_refusal(stream, error)
            return error
        self.has_started(stream)
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001 - Spark's and ours
            self.tell(f"{stream.name} failed: {' '.join(str(error).split())[:200]}")
            return error
        return None

    def _frame(self, stream: StreamAccount) -> DataFrame:
        source = self.home / f"in-{stream.name}"
        reader = self.backend.spark.readStream.schema("id string, key string, seq string")
        frame = reader.option("maxFilesPerTrigger", self.history.files_per_batch).json(str(source))
        if self.history.is_repeatable:
            return frame.withColumn("v", F.lit(str(self.lookup)))
        now = str(self.lookup)
        computed = F.udf(lambda _: now, "string")
        return frame.withColumn("v", computed("id"))


class _Events:
    """Accounts for what the sinks say while a query runs, and fails it at a point."""

    def __init__(self, machine: SparkMachine, stream: StreamAccount, kill: int | None) -> None:
        self._machine, self._stream, self._kill = machine, stream, kill
        self._batch: MicroBatch | None = None
        self._sink = self._seen = 0
        self.is_killed = False
        self.found: FoundError | None = None

    def hear(self, name: str) -> None:
        """Take note of a point."""
        machine, stream = self._machine, self._stream
        if name.startswith("batch="):
            home = machine.checkpoint_of(stream)
            self._batch, self._sink = read_batch(home, int(name.removeprefix("batch="))), 0
            machine.planned(stream.name)(self._batch)
        if name == "sink-written" and self._batch is not None:
            try:
                machine.written(stream.name)(self._sink, self._batch, Apply())
            except FoundError as found:
                self.found = found
            self._sink += 1
        if name in _KILLS_AT:
            number, self._seen = self._seen, self._seen + 1
            if number == self._kill:
                machine.tell(f"{stream.name} killed at {name}")
                self.is_killed = True
                raise StoppedByUsError


def _wait_given_up() -> None:
    """Wait until the heartbeat of an ended query has released its lease."""
    for _ in range(400):
        if not any(each.name.startswith("holdfast") for each in threading.enumerate()):
            return
        time.sleep(0.05)


class SparkBackend:
    """Tables in PostgreSQL and in Delta, for one session."""

    machine = SparkMachine

    def __init__(self, spark: SparkSession, dsn: str) -> None:
        """Use a session and a database."""
        self.spark = spark
        self._postgres = PostgresBackend(dsn)
        self._home = Path()
        self._delta: set[str] = set()

    def begin(self, home: Path) -> None:
        """Begin a history without tables."""
        self._home = home
        self._delta.clear()
        self._postgres.begin(home)

    def create(self, name: str, *, by_key: bool, versions: bool) -> None:
        """Create a table."""
        if not versions:
            self._postgres.create(name, by_key=by_key, versions=False)
            return
        self._delta.add(name)
        self.spark.createDataFrame([], _SCHEMA).write.format("delta").save(self._path(name))

    def sink(self, name: str, *, by_key: bool, sequenced: bool) -> SinkSpec:
        """Return the sink that writes into a table."""
        given: dict[str, Any] = {
            "keys": ("key",) if by_key else (),
            "sequence_by": "seq" if sequenced else None,
        }
        if name in self._delta:
            return hf.Delta(path=self._path(name), **given)
        return hf.Postgres(f"env:{SECRET}", table=name, **given)

    def rows(self, name: str) -> list[Row]:
        """Return every row."""
        if name not in self._delta:
            return self._postgres.rows(name)
        jvm: Any = self.spark._jvm  # noqa: SLF001
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        found = self.spark.read.format("delta").load(self._path(name)).collect()
        return [{column: row[column] for column in COLUMNS} for row in found]

    def insert(self, name: str, rows: list[Row]) -> None:
        """Insert rows as another program."""
        if name not in self._delta:
            self._postgres.insert(name, rows)
            return
        values = [tuple(row[column] for column in COLUMNS) for row in rows]
        frame = self.spark.createDataFrame(values, _SCHEMA)
        frame.write.format("delta").mode("append").save(self._path(name))

    def update(self, name: str, row_id: str, value: str) -> None:
        """Update a row as another program."""
        if name not in self._delta:
            self._postgres.update(name, row_id, value)
        else:
            statement = f"UPDATE {{table}} SET v = '{value}' WHERE id = '{row_id}'"  # noqa: S608 - ours
            self._sql(statement, name)

    def delete(self, name: str, row_id: str) -> None:
        """Delete a row as another program."""
        if name not in self._delta:
            self._postgres.delete(name, row_id)
        else:
            self._sql(f"DELETE FROM {{table}} WHERE id = '{row_id}'", name)  # noqa: S608 - ours

    def alter(self, name: str, what: str) -> None:
        """Change the table as its owner does."""
        if name not in self._delta:
            self._postgres.alter(name, what)
        elif what == "vacuum":
            self._sql("VACUUM {table} RETAIN 0 HOURS", name)
        elif what == "optimize":
            self._sql("OPTIMIZE {table}", name)
        elif what == "add-column":
            number = len(self.spark.read.format("delta").load(self._path(name)).columns)
            self._sql(f"ALTER TABLE {{table}} ADD COLUMN note{number} string", name)

    def ledger(self, name: str) -> Any:
        """Return what the ledger says, without epochs; of Delta, only its rows are compared."""
        return [] if name in self._delta else self._postgres.ledger(name)

    def close(self) -> None:
        """Close the connection."""
        self._postgres.close()

    def _path(self, name: str) -> str:
        return str(self._home / name)

    def _sql(self, statement: str, name: str) -> None:
        self.spark.sql(statement.format(table=f"delta.`{self._path(name)}`"))


@contextmanager
def spark_backend() -> Iterator[SparkBackend]:
    """Start a session and a server; end both."""
    home = Path(tempfile.mkdtemp(prefix="holdfast-histories-spark-"))
    spark = start_session(home, _SETTINGS)
    spark.sparkContext.setLogLevel("OFF")  # every kill is an error in its log
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    try:
        with Postgres() as server:
            backend = SparkBackend(spark, server.create_database("histories"))
            try:
                yield backend
            finally:
                backend.close()
    finally:
        spark.stop()
        shutil.rmtree(home, ignore_errors=True)
