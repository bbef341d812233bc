"""Streams that real Spark has run once, put back before every case: files and PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import holdfast as hf

DSN = "REPAIR_KILLS_DSN"
BATCHES = 4
TABLES = ("readings", "typed", "counted")
_TIMES = ("at", "begun_at", "ended_at")
_OWN = ("epoch", "nonce", "committed_at")

Files = dict[str, bytes]
Rows = dict[str, Counter[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is there: files, and the rows of every table, each as often as it is there."""

    files: Files
    rows: Rows

    def differences(self, other: State) -> Iterator[str]:
        """Yield what another state has otherwise."""
        for path in sorted(self.files.keys() | other.files.keys()):
            if self.files.get(path) != other.files.get(path):
                yield f"{path}: {_side(self.files, path)}, then {_side(other.files, path)}"
        for table in sorted(self.rows.keys() | other.rows.keys()):
            if self.rows.get(table) != other.rows.get(table):
                yield f"table {table}: {self.rows.get(table)}, then {other.rows.get(table)}"


def _side(files: Files, path: str) -> str:
    return repr(files[path][:200]) if path in files else "not there"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where everything is."""

    home: Path
    kept: Path
    dsn: str

    @property
    def root(self) -> Path:
        """Of the guarded streams."""
        return self.home / "root"

    def build(self, spark: SparkSession) -> None:
        """Have Spark run every stream, and keep what is there then."""
        self.kept.mkdir(parents=True, exist_ok=True)
        os.environ[DSN] = self.dsn
        with psycopg.connect(self.dsn) as connection:
            connection.execute("create table readings (value text)")
            connection.execute("create table typed (value text)")
            connection.execute("create table counted (value text, size int)")
        files = self.kept / "in"
        files.mkdir()
        for number in range(BATCHES):
            path = files / f"f{number}"
            path.write_text(f"row {number}\nsame\n")
            os.utime(path, (1_700_000_000 + number,) * 2)
        reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        lines = reader.load(str(files))
        self._run(lines, "readings", hf.Postgres(f"env:{DSN}", table="readings"))
        lake = str(self.home / "lake/raw")
        self._run(lines, "raw", hf.Delta(path=lake))
        table = spark.readStream.format("delta").load(lake)
        self._run(table, "typed", hf.Postgres(f"env:{DSN}", table="typed"))
        counted = table.withColumn("size", f.length("value"))
        self._run(counted, "counted", hf.Postgres(f"env:{DSN}", table="counted"))
        shutil.copytree(self.root / "readings", self.home / "bare/readings")
        shutil.copytree(self.home, self.kept / "home", symlinks=True)
        self._keep_tables()

    def _run(self, df: DataFrame, stream: str, into: Any) -> None:
        query = hf.start(
            df, stream=stream, into=into, root=str(self.root), trigger={"availableNow": True}
        )
        query.awaitTermination()

    def _keep_tables(self) -> None:
        with psycopg.connect(self.dsn) as connection:
            connection.execute("create schema kept")
            for schema, name in _tables(connection):
                copy = sql.Identifier("kept", f"{schema}_{name}")
                table = sql.Identifier(schema, name)
                connection.execute(sql.SQL("create table {} as table {}").format(copy, table))

    def put_back(self) -> None:
        """Make everything as Spark has left it."""
        shutil.rmtree(self.home)
        shutil.copytree(self.kept / "home", self.home, symlinks=True)
        with psycopg.connect(self.dsn) as connection:
            for schema, name in _tables(connection):
                table = sql.Identifier(schema, name)
                if name.startswith("kept_"):
                    connection.execute(sql.SQL("drop table {}").format(table))
                    continue
                copy = sql.Identifier("kept", f"{schema}_{name}")
                connection.execute(sql.SQL("truncate {}").format(table))
                connection.execute(sql.SQL("insert into {} table {}").format(table, copy))

    def look(self) -> State:
        """Return everything but leases and the times at which it was written."""
        return State(files=dict(self._files()), rows=self._rows())

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if path.is_file() and "/leases/" not in name:
                raw = path.read_bytes()
                is_ours = "/journal/" in name or "/repairs/" in name
                yield name, _without_times(raw) if is_ours and name.endswith(".json") else raw

    def _rows(self) -> Rows:
        found: Rows = {}
        with psycopg.connect(self.dsn) as connection:
            for schema, name in _tables(connection):
                query = sql.SQL("select * from {}").format(sql.Identifier(schema, name))
                cursor = connection.execute(query)
                names = [each.name for each in cursor.description or ()]
                wanted = [(at, each) for at, each in enumerate(names) if each not in _OWN]
                rows = (
                    tuple((each, _without_storage(each, row[at])) for at, each in wanted)
                    for row in cursor.fetchall()
                )
                found[f"{schema}.{name}"] = Counter(rows)
        return found


def _tables(connection: psycopg.Connection) -> list[tuple[str, str]]:
    return connection.execute(
        "select schemaname, tablename from pg_tables where schemaname in ('public', 'holdfast')"
        " order by 1, 2"
    ).fetchall()


def _without_storage(column: str, value: Any) -> Any:
    """Return a value; of a ledger's `oid/file` the table: one that is put back has other files."""
    return str(value).partition("/")[0] if column == "target" else value


def _without_times(raw: bytes) -> bytes:
    found = json.loads(raw)
    for each in found.get("preconditions", ()):
        each.pop("table", None)  # it names the file that a table is in
    return json.dumps({key: each for key, each in found.items() if key not in _TIMES}).encode()
