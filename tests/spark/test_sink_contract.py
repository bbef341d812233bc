"""Every kind of exactly-once sink, by the suite that is shipped for users' own."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame

import holdfast as hf
from holdfast.ledger.output import CannotSettleError, EmptyOutput, ExchangeOutput, RestoreOutput
from holdfast.sinks.database.session import Session
from holdfast.sinks.sink import SinkSpec, SinkWriter
from holdfast.testing.sink_batches import (
    STREAM,
    THREE,
    Batches,
    kept_name,
    ledger_of,
    opening,
    row_of,
)
from holdfast.testing.sink_contract import SinkContract
from lab import Kafka, Postgres
from lab.mariadb import MariaDB
from lab.topics import read_topic
from tests.kinds.sqlite_sink import Sqlite, rows_in
from tests.spark.files_read import rows_read

pytestmark = pytest.mark.sampled(10)


class TestPostgres(SinkContract):
    @pytest.fixture
    def sink(self, postgres: Postgres, tmp_path: Path) -> SinkSpec:
        dsn = postgres.create_database(f"contract_{uuid.uuid4().hex[:12]}")
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE TABLE readings (id bigint, name text)")
        (tmp_path / "dsn").write_text(dsn)
        return hf.Postgres(f"file:{tmp_path / 'dsn'}", table="readings")

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        with psycopg.connect(Path(sink.dsn.removeprefix("file:")).read_text()) as connection:
            return connection.execute("SELECT * FROM readings").fetchall()


class TestParallelPostgres(SinkContract):
    """Another writer than the plain one: several tasks copy a batch, the driver attaches it."""

    @pytest.fixture
    def sink(self, postgres: Postgres, tmp_path: Path) -> SinkSpec:
        dsn = postgres.create_database(f"contract_{uuid.uuid4().hex[:12]}")
        with psycopg.connect(dsn) as connection:
            connection.execute(
                "CREATE TABLE readings (id bigint, name text, holdfast_part bigint NOT NULL)"
                " PARTITION BY LIST (holdfast_part)"
            )
        (tmp_path / "dsn").write_text(dsn)
        return hf.Postgres(f"file:{tmp_path / 'dsn'}", table="readings", parallel=2)

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        with psycopg.connect(Path(sink.dsn.removeprefix("file:")).read_text()) as connection:
            return connection.execute("SELECT id, name FROM readings").fetchall()

    def test_an_undo_of_a_reset_gives_its_rows_back(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """Tasks write the rows, each in a transaction of its own, and the ledger has the driver's.

        So an undo cannot tell the rows of a generation apart: it is refused by that name. The copy
        is complete, and a restore puts it back.
        """
        ledger = ledger_of(writer)
        before = self.write_three(writer, batches)
        reset, empty = opening(before, epoch=2), EmptyOutput(kept=kept_name(ledger, 1))
        assert not ledger.settle(replace(before, digest="x"), reset, empty)
        self.check_rows(sink, batches.spark, *THREE)
        assert ledger.find_obstacle(reset, empty) is None
        assert ledger.settle(before, reset, empty)
        self.check_rows(sink, batches.spark)
        assert "attached partitions (parallel=)" in ledger.since(STREAM, generation=2).unclear
        back, aside = replace(before, generation=3, epoch=3, nonce="n3"), kept_name(ledger, 2)
        undo = ExchangeOutput(generation=2, kept=empty.kept, aside=aside, rows=None)
        assert "attached partitions (parallel=)" in (ledger.find_obstacle(back, undo) or "")
        with pytest.raises(CannotSettleError, match="attached partitions"):
            ledger.settle(reset, back, undo)
        assert ledger.settle(reset, back, RestoreOutput(kept=empty.kept, aside=aside))
        assert row_of(ledger) == back
        self.check_rows(sink, batches.spark, *THREE)


class TestMariaDb(SinkContract):
    @pytest.fixture
    def sink(self, mariadb: MariaDB, tmp_path: Path) -> SinkSpec:
        database = f"contract_{uuid.uuid4().hex[:12]}"
        (tmp_path / "url").write_text(mariadb.create_database(database))
        mariadb.ask(
            "CREATE TABLE readings (id bigint, name text) CHARACTER SET utf8mb4", database=database
        )
        return hf.Database(f"file:{tmp_path / 'url'}", table="readings")

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        session = Session(sink.url, "")
        rows = session.dialect.ask(session.connection(), "SELECT * FROM readings")
        session.close()
        return rows


class TestSqliteDatabase(SinkContract):
    @pytest.fixture
    def sink(self, tmp_path: Path) -> SinkSpec:
        with closing(sqlite3.connect(tmp_path / "serving.db")) as connection:
            connection.execute("CREATE TABLE readings (id INTEGER, name TEXT)")
        (tmp_path / "url").write_text(f"sqlite:///{tmp_path / 'serving.db'}")
        return hf.Database(f"file:{tmp_path / 'url'}", table="readings")

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        path = Path(sink.url.removeprefix("file:")).read_text().removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT * FROM readings").fetchall()


class TestDelta(SinkContract):
    @pytest.fixture
    def sink(self, tmp_path: Path) -> SinkSpec:
        return hf.Delta(path=str(tmp_path / "readings"))

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in spark.read.format("delta").load(sink.path).collect()]


class TestSqlite(SinkContract):
    @pytest.fixture
    def sink(self, tmp_path: Path) -> SinkSpec:
        return Sqlite(path=str(tmp_path / "readings.sqlite"))

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        return rows_in(sink)


class Records(Batches):
    """The batches of the contract as Kafka takes them: the id is the key."""

    def frame(self, rows: list[Any]) -> DataFrame:
        return super().frame(rows).selectExpr("cast(id as string) key", "name value")


class TestKafka(SinkContract):
    @pytest.fixture
    def batches(self, spark: Any) -> Batches:
        return Records(spark)

    @pytest.fixture
    def sink(self, kafka: Kafka, tmp_path: Path) -> SinkSpec:
        topic = f"contract_{uuid.uuid4().hex[:12]}"
        kafka.create_topic(topic, partitions=2)
        (tmp_path / "servers").write_text(kafka.address)
        return hf.Kafka(f"file:{tmp_path / 'servers'}", topic=topic)

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        servers = Path(sink.servers.removeprefix("file:")).read_text()
        found = read_topic(servers, sink.topic)
        return [(int(key or 0), value and value.decode()) for _, key, value in found]


class TestFiles(SinkContract):
    @pytest.fixture(params=["parquet", "json", "csv"])
    def sink(self, request: pytest.FixtureRequest, tmp_path: Path) -> SinkSpec:
        return hf.Files(str(tmp_path / "lake" / "readings"), format=request.param)

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        return rows_read(sink, spark, "id bigint, name string")
