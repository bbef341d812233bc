"""A commit whose answer is lost: the ledger is asked, nothing is sent twice, nothing is guessed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.ledger import Apply, Skip
from holdfast.sinks.postgres.ledger_rows import read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.writer import PostgresWriter
from lab import Postgres
from lab.faults.tcp_proxy import TcpProxy
from tests.ledger_rows import ROW, attempt
from tests.stand_ins import stand_in
from tests.writers import postgres_writer

SCHEMA = pa.schema([("id", pa.int64())])
ROWS = 50


@dataclass
class Batch:
    """Stands for Spark's DataFrame of a batch."""

    number: int
    sparkSession: Any = None  # noqa: N815 - Spark's own name

    def toArrow(self) -> Any:  # noqa: N802 - Spark's own name
        ids = range(self.number * ROWS, (self.number + 1) * ROWS)
        return pa.table({"id": pa.array(ids, pa.int64())})


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the rows from a `Batch` instead of from Spark."""
    path = "holdfast.sinks.collect.collected"
    monkeypatch.setattr(path, lambda batch, **_: nullcontext(batch.toArrow().to_batches()))
    monkeypatch.setattr("holdfast.sinks.postgres.large.is_large", lambda _: False)
    monkeypatch.setattr("holdfast.sinks.collect.budget_of", lambda _: 1 << 30)


@pytest.fixture
def dsn(postgres: Postgres) -> str:
    dsn = postgres.create_database(f"lost_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(dsn, autocommit=True) as connection:
        ensure_tables(connection)
        replace_row(connection, None, ROW, target="readings")
        connection.execute("CREATE TABLE readings (id bigint)")
    return dsn


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[TcpProxy]:
    with TcpProxy(postgres.port) as running:
        yield running


@pytest.fixture
def sink(postgres: Postgres, proxy: TcpProxy, dsn: str) -> Iterator[PostgresWriter]:
    through = dsn.replace(f"port={postgres.port}", f"port={proxy.port}")
    found = postgres_writer(PostgresSink(lambda: through, table="readings"), SCHEMA, dsn=dsn)
    yield found
    found.close()


def ids(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM readings ORDER BY id")]


def test_a_commit_that_landed_is_recognised_and_nothing_is_duplicated(
    proxy: TcpProxy, sink: PostgresWriter, dsn: str
) -> None:
    answers = []
    for number in range(10):
        swallowed = proxy.at(b"COMMIT", "swallow")
        answers.append(sink.write(attempt(number), stand_in(Batch(number))))
        swallowed.wait()
    assert ids(dsn) == list(range(10 * ROWS))
    assert answers == [Skip()] * 10


@pytest.mark.parametrize("request_", [b"COMMIT", b"COPY"])
def test_what_did_not_land_is_written_again_once_the_ledger_has_said_so(
    proxy: TcpProxy, sink: PostgresWriter, *, dsn: str, request_: bytes
) -> None:
    cut = proxy.at(request_, "cut")
    assert sink.write(attempt(0), stand_in(Batch(0))) == Apply()
    cut.wait()
    assert ids(dsn) == list(range(ROWS))
    with psycopg.connect(dsn) as connection:
        row = read_row(connection, "readings", "readings")
    assert row is not None
    assert row.last_batch == 0


def test_a_server_that_dies_in_the_commit_leaves_a_whole_batch_or_none(
    postgres: Postgres, sink: PostgresWriter, dsn: str
) -> None:
    """Sessions are ended from outside, as a failover does it."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        for number in range(5):
            sink.write(attempt(number), stand_in(Batch(number)))
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    assert ids(dsn) == list(range(5 * ROWS)), postgres.address
