"""Merges by keys that PostgreSQL compares in its own way: one outcome, however rows are batched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.proof.multiset import compare
from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import write_batch
from tests.ledger_rows import ROW, attempt

Connection = psycopg.Connection[Any]
CASELESS = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        yield connection


def merged(
    connection: Connection, made: str, schema: pa.Schema, *batches: list[tuple[Any, ...]]
) -> list[str]:
    """Return the rows of a table after these batches; the first column is the key."""
    connection.execute(b"DROP TABLE IF EXISTS readings; DELETE FROM holdfast.ledger")
    connection.execute("DELETE FROM holdfast.history")
    connection.execute(f"CREATE TABLE readings ({made})".encode())
    assert replace_row(connection, None, ROW, target="readings")
    order = schema.names[1]
    target = check_table(connection, "readings", schema, keys=[schema.names[0]], sequence_by=order)
    for number, rows in enumerate(batches):
        columns = [
            pa.array(values, field.type)
            for values, field in zip(zip(*rows, strict=True), schema, strict=True)
        ]
        batch = pa.record_batch(columns, schema=schema)
        write_batch(connection, target, attempt(number), batches=[batch])
    return [str(row) for row in connection.execute("SELECT * FROM readings").fetchall()]


TEXT_KEY = pa.schema([("k", pa.string()), ("seq", pa.int64()), ("v", pa.string())])
FLOAT_KEY = pa.schema([("k", pa.float64()), ("seq", pa.int64()), ("v", pa.string())])
FLOAT_VALUE = pa.schema([("k", pa.int64()), ("seq", pa.int64()), ("v", pa.float64())])
TEXT_VALUE = pa.schema([("k", pa.int64()), ("seq", pa.int64()), ("v", pa.string())])
TEXT_ORDER = pa.schema([("k", pa.int64()), ("seq", pa.string()), ("v", pa.string())])
KEYS_ONLY = pa.schema([("k", pa.string()), ("seq", pa.int64())])
LOOSE = {
    "citext key": (
        "k citext PRIMARY KEY, seq bigint, v text",
        TEXT_KEY,
        ("A", 1, "x"),
        ("a", 2, "y"),
    ),
    "citext key, the older row last": (
        "k citext PRIMARY KEY, seq bigint, v text",
        TEXT_KEY,
        ("a", 2, "y"),
        ("A", 1, "x"),
    ),
    "citext key, a tie": (
        "k citext PRIMARY KEY, seq bigint, v text",
        TEXT_KEY,
        ("a", 1, "x"),
        ("A", 1, "x"),
    ),
    "citext key, nothing else": ("k citext PRIMARY KEY, seq bigint", KEYS_ONLY, ("A", 1), ("a", 2)),
    "caseless key": (
        "k text COLLATE ci PRIMARY KEY, seq bigint, v text",
        TEXT_KEY,
        ("A", 1, "x"),
        ("a", 2, "y"),
    ),
    "caseless column, exact index": (
        'k text COLLATE ci, seq bigint, v text); CREATE UNIQUE INDEX ON readings (k COLLATE "C"',
        TEXT_KEY,
        ("A", 1, "x"),
        ("a", 2, "y"),
    ),
    "exact column, caseless index": (
        "k text, seq bigint, v text); CREATE UNIQUE INDEX ON readings (k COLLATE ci",
        TEXT_KEY,
        ("A", 1, "x"),
        ("a", 2, "y"),
    ),
    "zero key": (
        "k float8 PRIMARY KEY, seq bigint, v text",
        FLOAT_KEY,
        (-0.0, 1, "x"),
        (0.0, 2, "y"),
    ),
    "zero value": (
        "k bigint PRIMARY KEY, seq bigint, v float8",
        FLOAT_VALUE,
        (1, 1, 0.0),
        (1, 1, -0.0),
    ),
    "NaN value": (
        "k bigint PRIMARY KEY, seq bigint, v float8",
        FLOAT_VALUE,
        (1, 1, float("nan")),
        (1, 1, 5.0),
    ),
    "citext value": (
        "k bigint PRIMARY KEY, seq bigint, v citext",
        TEXT_VALUE,
        (1, 1, "A"),
        (1, 1, "a"),
    ),
    "caseless value": (
        "k bigint PRIMARY KEY, seq bigint, v text COLLATE ci",
        TEXT_VALUE,
        (1, 1, "A"),
        (1, 1, "a"),
    ),
    "spaces at the end": (
        "k bigint PRIMARY KEY, seq bigint, v bpchar",
        TEXT_VALUE,
        (1, 1, "a "),
        (1, 1, "a"),
    ),
    "order of a language": (
        'k bigint PRIMARY KEY, seq text COLLATE "en-US-x-icu", v text',
        TEXT_ORDER,
        (1, "a", "x"),
        (1, "B", "y"),
    ),
    "caseless order": (
        "k bigint PRIMARY KEY, seq citext, v text",
        TEXT_ORDER,
        (1, "a", "x"),
        (1, "B", "y"),
    ),
}


@pytest.mark.parametrize(("made", "schema", "one", "two"), LOOSE.values(), ids=list(LOOSE))
def test_the_outcome_does_not_depend_on_batches(  # noqa: PLR0917 - a row of the table above
    connection: Connection, made: str, schema: Any, one: Any, two: Any
) -> None:
    connection.execute(f"CREATE EXTENSION citext; {CASELESS}".encode())
    together = merged(connection, made, schema, [one, two])
    assert len(together) == (2 if "exact index" in made or '"C"' in made else 1)
    for batches in ([[two, one]], [[one], [two]], [[two], [one]]):
        assert compare(together, merged(connection, made, schema, *batches)).exact


def test_text_is_ordered_by_its_bytes_as_in_spark(connection: Connection) -> None:
    made = 'k bigint PRIMARY KEY, seq text COLLATE "en-US-x-icu", v text'
    found = merged(connection, made, TEXT_ORDER, [(1, "a", "first")], [(1, "B", "second")])
    assert found == ["(1, 'a', 'first')"]


REFUSED = {
    "included columns are no keys": (
        "CREATE TABLE readings (id bigint, v bigint);"
        "CREATE UNIQUE INDEX ON readings (id) INCLUDE (v)",
        ["id", "v"],
        "no unique index on exactly id, v",
    ),
    "a deferrable key": (
        "CREATE TABLE readings (id bigint PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, v bigint)",
        ["id"],
        "is deferrable",
    ),
    "a deferrable key beside another": (
        "CREATE TABLE readings (id bigint UNIQUE DEFERRABLE, v bigint);"
        "CREATE UNIQUE INDEX ON readings (id)",
        ["id"],
        "is deferrable",
    ),
    "a partial index": (
        "CREATE TABLE readings (id bigint, v bigint);"
        "CREATE UNIQUE INDEX ON readings (id) WHERE v > 0",
        ["id"],
        "no unique index",
    ),
    "an expression": (
        "CREATE TABLE readings (id bigint, v bigint); CREATE UNIQUE INDEX ON readings (abs(id))",
        ["id"],
        "no unique index",
    ),
    "an index that is not unique": (
        "CREATE TABLE readings (id bigint, v bigint); CREATE INDEX ON readings (id)",
        ["id"],
        "no unique index",
    ),
    "an invalid index": (
        "CREATE TABLE readings (id bigint, v bigint); CREATE UNIQUE INDEX i ON readings (id);"
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i'::regclass",
        ["id"],
        "no unique index",
    ),
}
IDS = pa.schema([("id", pa.int64()), ("v", pa.int64())])


@pytest.mark.parametrize(("made", "keys", "said"), REFUSED.values(), ids=list(REFUSED))
def test_a_key_that_postgresql_cannot_merge_by_is_refused_at_the_start(  # noqa: PLR0917 - a row
    connection: Connection, made: str, keys: list[str], said: str
) -> None:
    connection.execute(made.encode())
    with pytest.raises(TableError, match=said) as refused:
        check_table(connection, "readings", IDS, keys=keys)
    connection.execute(refused.value.sql.encode())
    check_table(connection, "readings", IDS, keys=keys)


@pytest.mark.parametrize(
    "index", ["(id) INCLUDE (v)", "(id) NULLS NOT DISTINCT", "(id DESC NULLS LAST)"]
)
def test_an_index_on_exactly_the_key_takes_batches(connection: Connection, index: str) -> None:
    connection.execute(
        "CREATE TABLE readings (id bigint, v bigint);"
        f"CREATE UNIQUE INDEX ON readings {index}".encode()
    )
    assert replace_row(connection, None, ROW, target="readings")
    target = check_table(connection, "readings", IDS, keys=["id"])
    for number, value in enumerate((10, 20)):
        batch = pa.record_batch([pa.array([1]), pa.array([value])], schema=IDS)
        write_batch(connection, target, attempt(number), batches=[batch])
    assert connection.execute("SELECT * FROM readings").fetchall() == [(1, 20)]


def test_two_indexes_that_take_other_keys_for_equal_are_refused(connection: Connection) -> None:
    connection.execute(CASELESS)
    connection.execute("CREATE TABLE readings (k text PRIMARY KEY, seq bigint)")
    connection.execute("CREATE UNIQUE INDEX caseless ON readings (k COLLATE ci)")
    with pytest.raises(TableError, match="take other keys for equal") as refused:
        check_table(connection, "readings", KEYS_ONLY, keys=["k"])
    connection.execute(refused.value.sql.encode())
    check_table(connection, "readings", KEYS_ONLY, keys=["k"])


@pytest.mark.parametrize("kind", ["json", "jsonb"])
def test_an_order_that_spark_does_not_share_is_refused(connection: Connection, kind: str) -> None:
    connection.execute(f"CREATE TABLE readings (k bigint PRIMARY KEY, seq {kind}, v text)".encode())
    with pytest.raises(TableError, match="no order that Spark shares"):
        check_table(connection, "readings", TEXT_ORDER, keys=["k"], sequence_by="seq")
