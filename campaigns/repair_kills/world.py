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
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import holdfast as hf
from campaigns.repair_kills.beside import PLACE, Beside
from campaigns.repair_kills.lake import Lake
from campaigns.repair_kills.tables import Rows, Tables

DSN = "REPAIR_KILLS_DSN"
BATCHES = 4
LAKE = "lake"
BUILT = "built"
"""What everything is kept under as Spark has left it; PostgreSQL has a schema of this name."""
_TIMES = ("at", "begun_at", "ended_at")

Files = dict[str, bytes]


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
            one, two = (each.rows.get(table, Counter()) for each in (self, other))
            if one != two:
                yield f"table {table}: {[*(one - two)]}, then {[*(two - one)]}"


def _side(files: Files, path: str) -> str:
    return repr(files[path][:200]) if path in files else "not there"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Where everything is."""

    home: Path
    kept: Path
    dsn: str
    session: SparkSession | None = None
    """What reads the Delta table, if plans change it; else its files are compared."""
    has_others: bool = False
    """Whether streams into other kinds of sinks are there too."""

    @property
    def tables(self) -> Tables:
        """Those in PostgreSQL."""
        return Tables(self.dsn)

    @property
    def lake(self) -> Lake | None:
        """The Delta table, if plans change it."""
        if self.session is None:
            return None
        return Lake(path=self.home / LAKE / "raw", stream="raw", spark=self.session)

    @property
    def beside(self) -> Beside:
        """The outputs of other kinds."""
        return Beside(home=self.home)

    @property
    def root(self) -> Path:
        """Of the guarded streams."""
        return self.home / "root"

    def build(self, spark: SparkSession) -> None:
        """Have Spark run every stream, and keep what is there then."""
        self.kept.mkdir(parents=True, exist_ok=True)
        os.environ[DSN] = self.dsn
        self.tables.never_wait_for_the_disk()
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
        lake = str(self.home / LAKE / "raw")
        self._run(lines, "raw", hf.Delta(path=lake))
        table = spark.readStream.format("delta").load(lake)
        self._run(table, "typed", hf.Postgres(f"env:{DSN}", table="typed"))
        counted = table.withColumn("size", f.length("value"))
        self._run(counted, "counted", hf.Postgres(f"env:{DSN}", table="counted"))
        if self.has_others:
            self.beside.create()
            for stream, sink in self.beside.sinks.items():
                self._run(lines, stream, sink)
        shutil.copytree(self.root / "readings", self.home / "bare/readings")
        self.keep()

    def _run(self, df: DataFrame, stream: str, into: Any) -> None:
        query = hf.start(
            df, stream=stream, into=into, root=str(self.root), trigger={"availableNow": True}
        )
        query.awaitTermination()

    def keep(self, name: str = BUILT) -> None:
        """Keep everything as it is now, under a name."""
        shutil.rmtree(self.kept / name, ignore_errors=True)
        shutil.copytree(self.home, self.kept / name, symlinks=True)
        self.tables.keep(name)

    def put_back(self, name: str = BUILT) -> None:
        """Make everything as it was kept: without a name, as Spark has left it."""
        shutil.rmtree(self.home)
        shutil.copytree(self.kept / name, self.home, symlinks=True)
        if self.lake is not None:
            self.lake.forget()
        self.tables.put_back(name)

    def look(self) -> State:
        """Return everything but leases and the times at which it was written."""
        files, rows = dict(self._files()), self.tables.rows()
        if self.lake is not None:
            files = _outside(LAKE, files)
            rows |= {"delta.raw": self.lake.rows(), "delta.ledger": self.lake.ledger()}
        if self.has_others:
            files = _outside(PLACE, files)
            rows |= self.beside.rows()
        return State(files=files, rows=rows)

    def _files(self) -> Iterator[tuple[str, bytes]]:
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if path.is_file() and "/leases/" not in name:
                raw = path.read_bytes()
                is_ours = "/journal/" in name or "/repairs/" in name
                yield name, _without_times(raw) if is_ours and name.endswith(".json") else raw


def _outside(place: str, files: Files) -> Files:
    return {name: raw for name, raw in files.items() if not name.startswith(f"{place}/")}


def _without_times(raw: bytes) -> bytes:
    found = json.loads(raw)
    for each in found.get("preconditions", ()):
        each.pop("table", None)  # it names the file that a table is in
    return json.dumps({key: each for key, each in found.items() if key not in _TIMES}).encode()
