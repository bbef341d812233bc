"""A batch whose tasks stage their rows: what is staged counts as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.errors import HoldfastError
from holdfast.ledger import Apply, Refuse, Skip
from holdfast.sinks.parts import PartsWriter, open_parts, reopen_parts
from holdfast.sinks.postgres.parts import SCHEMA as STAGES
from holdfast.sinks.postgres.sink import Postgres
from tests.ledger_rows import ROW, attempt

SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.string())])
WIDE = "x" * 100_000


def batch(first: int, *, wide: bool = False) -> Any:
    values = [f"{number}{WIDE if wide else ''}" for number in range(first, first + 4)]
    return pa.record_batch(
        [pa.array(range(first, first + 4), pa.int64()), pa.array(values)], schema=SCHEMA
    )


def held(connection: Any) -> list[int]:
    return [key for (key,) in connection.execute("SELECT id FROM readings ORDER BY 1")]


def staged(connection: Any) -> list[str]:
    found = connection.execute(
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE nspname = %s AND relkind = 'r' ORDER BY 1",
        (STAGES,),
    )
    return [name for (name,) in found]


@pytest.fixture
def connection(database: str) -> Iterator[Any]:
    with psycopg.connect(database, autocommit=True) as opened:
        opened.execute("CREATE TABLE readings (id bigint PRIMARY KEY, value text)")
        yield opened


@pytest.fixture
def sink(database: str, tmp_path: Path) -> Postgres:
    (tmp_path / "dsn").write_text(database)
    return Postgres(f"file:{tmp_path / 'dsn'}", table="readings")


@pytest.fixture
def writer(connection: Any, sink: Postgres) -> Iterator[PartsWriter]:
    assert held(connection) == []
    with open_parts(sink, SCHEMA, "readings") as opened:
        opened.create()
        assert opened.ledger.replace(None, ROW)
        yield opened


def stage(writer: PartsWriter, *batches: Any, number: int = 0, epoch: int = 1) -> list[Any]:
    """Return the parts of one task for each record batch."""
    task = writer.stage("readings", epoch=epoch)
    return [
        task.write([each], batch=number, partition=place, attempt=100 * number + place)
        for place, each in enumerate(batches)
    ]


def write(writer: PartsWriter, parts: list[Any], number: int = 0, **changes: Any) -> Any:
    return writer.write_parts(attempt(number, **changes), parts, before_commit=lambda _: None)


def test_kept_and_staged_rows_are_one_batch(writer: PartsWriter, connection: Any) -> None:
    parts = stage(writer, batch(0), batch(4, wide=True), batch(0).slice(0, 0))
    assert [(part.rows, bool(part.table)) for part in parts] == [(4, False), (4, True), (0, False)]
    assert held(connection) == []
    assert write(writer, parts) == Apply()
    assert held(connection) == list(range(8))
    assert write(writer, parts) == Skip()
    assert held(connection) == list(range(8))


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        ("DELETE FROM {stage} WHERE id = 5", "STAGE_LOST"),
        ("TRUNCATE {stage}", "STAGE_LOST"),
        ("DROP TABLE {stage}", "STAGE_LOST"),
        ("CREATE TABLE other (LIKE readings); ALTER TABLE readings RENAME TO gone;"
         " ALTER TABLE other RENAME TO readings", "TABLE_CHANGED"),
        ("ALTER TABLE readings ALTER value TYPE varchar(200000)", "TABLE_CHANGED"),
        ("TRUNCATE readings; INSERT INTO readings VALUES (77, '')", ""),
    ],
)  # fmt: skip
def test_nothing_is_committed_when_something_was_changed(
    writer: PartsWriter, connection: Any, *, harm: str, code: str
) -> None:
    assert write(writer, stage(writer, batch(100))) == Apply()
    parts = stage(writer, batch(0), batch(4, wide=True), number=1)
    (name,) = staged(connection)
    connection.execute(harm.format(stage=f"{STAGES}.{name}"))
    before = held(connection)
    with pytest.raises(HoldfastError) as refused:
        write(writer, parts, 1)
    assert code in ("", refused.value.code)
    assert held(connection) == before


def test_an_older_epoch_commits_nothing_and_its_stages_are_dropped(
    writer: PartsWriter, connection: Any
) -> None:
    old = stage(writer, batch(0, wide=True))
    new = replace(ROW, epoch=2, nonce="n2")
    assert writer.ledger.fence(ROW, epoch=2, nonce="n2") == new
    assert isinstance(write(writer, old), Refuse)
    mine = stage(writer, batch(0, wide=True), epoch=2)
    assert len(staged(connection)) == 2
    writer.drop_dead("readings", epoch=2)
    assert len(staged(connection)) == 1
    assert write(writer, mine, epoch=2, nonce="n2") == Apply()
    writer.drop_dead("readings", epoch=2, batch=0)
    assert staged(connection) == []
    assert held(connection) == [0, 1, 2, 3]


def test_keys_are_merged(sink: Postgres, connection: Any) -> None:
    with open_parts(replace(sink, keys=["id"]), SCHEMA, "readings") as writer:
        writer.create()
        assert writer.ledger.replace(None, ROW)
        assert write(writer, stage(writer, batch(0, wide=True), batch(4))) == Apply()
        assert write(writer, stage(writer, batch(2), number=1), 1) == Apply()
    assert held(connection) == list(range(8))
    short = connection.execute("SELECT count(*) FROM readings WHERE length(value) = 1").fetchone()
    assert short == (6,)


def test_a_stage_is_taken_by_another_process(
    writer: PartsWriter, sink: Postgres, connection: Any
) -> None:
    parts = stage(writer, batch(0, wide=True))
    with reopen_parts(sink, writer.stage("readings", epoch=1)) as other:
        assert write(other, parts) == Apply()
        other.drop_stages(part.table for part in parts)
    assert (held(connection), staged(connection)) == ([0, 1, 2, 3], [])


def test_rules_on_insert_are_refused(sink: Postgres, connection: Any) -> None:
    connection.execute("CREATE RULE r AS ON INSERT TO readings WHERE new.id < 0 DO INSTEAD NOTHING")
    with (
        open_parts(sink, SCHEMA, "readings") as writer,
        pytest.raises(HoldfastError, match="rules"),
    ):
        writer.create()


def test_rows_that_a_trigger_drops_are_refused(writer: PartsWriter, connection: Any) -> None:
    connection.execute(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RETURN CASE WHEN new.id = 5 THEN NULL ELSE new END; END';"
        "CREATE TRIGGER t BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION f()"
    )
    for wide in (False, True):
        with pytest.raises(HoldfastError) as refused:
            write(writer, stage(writer, batch(4, wide=wide)))
        assert refused.value.code == "ROWS_DROPPED"
        writer.drop_stages(staged(connection))
    assert held(connection) == []
