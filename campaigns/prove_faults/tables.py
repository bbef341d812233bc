"""The four tables that faults are planted into, each written by a guarded stream of files."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import holdfast as hf
from campaigns.prove_faults.columns import Column, Plant, plants_of
from campaigns.prove_faults.oracle import altered_in_delta, altered_in_postgres
from holdfast.proof.values import TableProof
from holdfast.streams.heartbeat import THREAD

DSN = "PROVE_FAULTS_DSN"
CLEAN = 8
"""Rows into which no value is planted; what happens to whole rows happens to these."""


@dataclass(kw_only=True)
class Table(ABC):
    """A table, its stream and its source."""

    spark: SparkSession
    home: Path
    columns: tuple[Column, ...]
    is_merged: bool

    @property
    def plants(self) -> tuple[Plant, ...]:
        """Every fault of a value, each in a row of its own."""
        return plants_of(self.columns)

    @property
    def count(self) -> int:
        """How many rows it has."""
        return len(self.plants) + CLEAN

    @property
    def keys(self) -> dict[str, Any]:
        """What the sink is given."""
        return {"keys": ["id", "name"], "sequence_by": "seq"} if self.is_merged else {}

    @property
    @abstractmethod
    def sink(self) -> Any:
        """What the stream writes into."""

    @abstractmethod
    def create(self) -> None:
        """Create it, where the sink does not."""

    @abstractmethod
    def begin(self) -> None:
        """Remember the rows that are there."""

    @abstractmethod
    def put_back(self) -> None:
        """Put the rows back that were there."""

    @abstractmethod
    def plant(self, plants: Sequence[Plant]) -> None:
        """Plant faults of values."""

    @abstractmethod
    def run(self, statement: str) -> None:
        """Run a statement; `{t}` is the table."""

    @abstractmethod
    def altered(self) -> set[int]:
        """Return the rows that are not as they were written, by other code than Holdfast's."""

    def read(self, spark: Any) -> Any:
        """Return the stream."""
        schema = spark.read.parquet(str(self.home / "in")).schema
        return spark.readStream.schema(schema).parquet(str(self.home / "in"))

    def fill(self) -> None:
        """Write the source with pyarrow, and let the stream write the table."""
        (self.home / "in").mkdir(parents=True)
        rows = range(self.count)
        data: dict[str, Any] = {
            "id": pa.array(rows, pa.int64()),
            "name": pa.array([f"n{row}" for row in rows], pa.string()),
            "seq": pa.array([1 for _ in rows], pa.int64()),
        }
        for each in self.columns:
            data[each.name] = pa.array([each.value for _ in rows], each.arrow)
        pq.write_table(pa.table(data), self.home / "in" / "rows.parquet")
        self.create()
        query = hf.start(
            self.read(self.spark),
            stream="faults",
            into=self.sink,
            root=str(self.home / "streams"),
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        for thread in threading.enumerate():
            if thread.name == THREAD:
                thread.join(60)
        self.begin()

    def prove(self) -> TableProof:
        """Return what Holdfast says."""
        pipeline = hf.Pipeline("faults", root=str(self.home / "streams"))
        pipeline.stream("faults", into=self.sink)(self.read)
        (found,) = pipeline.prove(self.spark).tables
        return found


@dataclass(kw_only=True)
class PostgresTable(Table):
    """A table of PostgreSQL."""

    dsn: str
    name: str

    @property
    def sink(self) -> Any:
        """What the stream writes into."""
        return hf.Postgres(f"env:{DSN}", table=self.name, **self.keys)

    def create(self) -> None:
        """Create it, where the sink does not."""
        columns = ", ".join(f'"{each.name}" {each.target}' for each in self.columns)
        key = ", CONSTRAINT only_once PRIMARY KEY (id, name)" if self.is_merged else ""
        self.run(f"CREATE TABLE {{t}} (id bigint, name text, seq bigint, {columns}{key})")

    def begin(self) -> None:
        """Remember the rows that are there."""
        if self.is_merged:  # so that a key can be planted twice
            self.run("ALTER TABLE {t} DROP CONSTRAINT only_once")
        self.run("CREATE TABLE {t}_before AS SELECT * FROM {t}")

    def put_back(self) -> None:
        """Put the rows back that were there."""
        self.run("DELETE FROM {t}; INSERT INTO {t} SELECT * FROM {t}_before")

    def plant(self, plants: Sequence[Plant]) -> None:
        """Plant faults of values."""
        for each in plants:
            changed = f'"{each.column.name}" = {each.sql}'
            self.run(f"UPDATE {{t}} SET {changed} WHERE id = {each.row}")  # noqa: S608 - ours

    def run(self, statement: str) -> None:
        """Run a statement; `{t}` is the table."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute(statement.replace("{t}", self.name).encode())

    def altered(self) -> set[int]:
        """Return the rows that are not as they were written."""
        return altered_in_postgres(self.dsn, self.name, self.columns)


@dataclass(kw_only=True)
class DeltaTable(Table):
    """A table of Delta."""

    version: int = 0

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.home / "table"

    @property
    def sink(self) -> Any:
        """What the stream writes into."""
        return hf.Delta(path=str(self.path), **self.keys)

    def create(self) -> None:
        """The sink does."""

    def begin(self) -> None:
        """Remember the rows that are there."""
        newest = self.spark.sql(f"DESCRIBE HISTORY delta.`{self.path}` LIMIT 1").first()
        assert newest is not None
        self.version = newest.version

    def put_back(self) -> None:
        """Put the rows back that were there."""
        self.run(f"RESTORE TABLE {{t}} TO VERSION AS OF {self.version}")

    def plant(self, plants: Sequence[Plant]) -> None:
        """Plant faults of values."""
        changes = []
        for column in dict.fromkeys(each.column.name for each in plants):
            cases = " ".join(
                f"WHEN id = {each.row} THEN {each.sql}"
                for each in plants
                if each.column.name == column
            )
            changes.append(f"`{column}` = CASE {cases} ELSE `{column}` END")
        self.run(f"UPDATE {{t}} SET {', '.join(changes)}")  # noqa: S608 - ours

    def run(self, statement: str) -> None:
        """Run a statement; `{t}` is the table."""
        self.spark.sql(statement.replace("{t}", f"delta.`{self.path}`"))

    def altered(self) -> set[int]:
        """Return the rows that are not as they were written."""
        return altered_in_delta(self.path, self.columns)
