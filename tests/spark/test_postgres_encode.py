"""What we write into PostgreSQL's binary COPY is what PostgreSQL reads: every type, with NULLs."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.sinks.postgres.encode import HEADER, TRAILER, encode_batch
from holdfast.sinks.postgres.types import find_encoder, suggest_type
from lab import Postgres

Make = Callable[[random.Random], Any]

ZONE = dt.UTC
DAY = dt.date(2000, 1, 1)


def text(rng: random.Random) -> str:
    return "".join(rng.choice("aé漢🦀 '\"\\\n\t,") for _ in range(rng.randrange(0, 12)))


def moment(rng: random.Random) -> dt.datetime:
    days = rng.choice([-700_000, -1, 0, 1, 10_957, rng.randrange(0, 9_999)])
    begin = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - one without a zone is wanted
    return begin + dt.timedelta(days=days, microseconds=rng.randrange(10**11))


def decimal(precision: int, scale: int) -> Make:
    def make(rng: random.Random) -> Decimal:
        top = 10**precision - 1
        unscaled = rng.choice([0, 1, -1, top, -top, 10**scale % (top + 1), rng.randint(-top, top)])
        digits = tuple(int(digit) for digit in str(abs(unscaled)))
        return Decimal((unscaled < 0, digits, -scale))

    return make


def edges(*values: Any) -> Make:
    return lambda rng: rng.choice(values)


TYPES: dict[str, tuple[Any, str, Make]] = {
    "int2": (pa.int16(), "smallint", edges(-(2**15), -1, 0, 1, 2**15 - 1)),
    "int4": (pa.int32(), "integer", edges(-(2**31), -1, 0, 1, 2**31 - 1)),
    "int8": (pa.int64(), "bigint", edges(-(2**63), -1, 0, 1, 2**63 - 1)),
    "byte-into-smallint": (pa.int8(), "smallint", edges(-128, 0, 127)),
    "short-into-bigint": (pa.int16(), "bigint", edges(-(2**15), 0, 2**15 - 1)),
    "float4": (pa.float32(), "real", edges(0.0, -1.5, math.inf, -math.inf, 3.5)),
    "float8": (pa.float64(), "double precision", lambda rng: rng.uniform(-1e300, 1e300)),
    "float-into-double": (pa.float32(), "double precision", edges(0.5, -2.25)),
    "bool": (pa.bool_(), "boolean", edges(True, False)),
    "text": (pa.string(), "text", text),
    "varchar": (pa.string(), "varchar(40)", text),
    "bytea": (pa.binary(), "bytea", lambda rng: rng.randbytes(rng.randrange(0, 20))),
    "date": (pa.date32(), "date", lambda rng: DAY + dt.timedelta(rng.randrange(-700_000, 9_999))),
    "timestamp": (pa.timestamp("us"), "timestamp", moment),
    "timestamptz": (
        pa.timestamp("us", "UTC"),
        "timestamptz",
        lambda rng: moment(rng).replace(tzinfo=ZONE),
    ),
    "numeric-small": (pa.decimal128(10, 2), "numeric", decimal(10, 2)),
    "numeric-whole": (pa.decimal128(9, 0), "numeric", decimal(9, 0)),
    "numeric-fraction": (pa.decimal128(5, 5), "numeric", decimal(5, 5)),
    "numeric-large": (pa.decimal128(38, 18), "numeric", decimal(38, 18)),
    "numeric-of-a-size": (pa.decimal128(20, 4), "numeric(20,4)", decimal(20, 4)),
    "uuid": (pa.string(), "uuid", lambda rng: str(uuid.UUID(int=rng.getrandbits(128)))),
    "json": (pa.string(), "json", edges("{}", '{"a": [1, "é"]}', "null")),
    "jsonb": (pa.string(), "jsonb", edges("{}", '{"a": [1, "é"]}', "3")),
    "int-array": (
        pa.list_(pa.int64()),
        "bigint[]",
        lambda rng: [rng.choice([None, 1, -1]) for _ in range(rng.randrange(0, 4))],
    ),
    "text-array": (
        pa.list_(pa.string()),
        "text[]",
        lambda rng: [text(rng) for _ in range(rng.randrange(0, 4))],
    ),
    "numeric-array": (
        pa.list_(pa.decimal128(10, 2)),
        "numeric[]",
        lambda rng: [decimal(10, 2)(rng) for _ in range(rng.randrange(0, 3))],
    ),
    "timestamp-array": (pa.list_(pa.timestamp("us")), "timestamp[]", lambda rng: [moment(rng)]),
    "bool-array": (pa.list_(pa.bool_()), "boolean[]", edges([True, False, None], [], [False])),
}


@pytest.fixture(scope="module")
def connected(postgres: Postgres) -> Iterator[psycopg.Connection]:
    dsn = postgres.create_database(f"encode_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        yield connection


@pytest.fixture
def connection(connected: psycopg.Connection) -> psycopg.Connection:
    connected.execute("DROP TABLE IF EXISTS t")
    return connected


def as_read(value: Any, target: str) -> Any:
    """Return what PostgreSQL gives back for a value as it was sent."""
    if target == "uuid" and value is not None:
        return uuid.UUID(value)
    return value


def copy(connection: psycopg.Connection, batch: Any, targets: list[str]) -> None:
    encoders = [
        find_encoder(field.type, target)
        for field, target in zip(batch.schema, targets, strict=True)
    ]
    assert None not in encoders
    with connection.cursor().copy("COPY t FROM STDIN BINARY") as stream:
        stream.write(HEADER)
        for start in range(0, batch.num_rows, 7):  # slices begin inside buffers
            stream.write(encode_batch(batch.slice(start, 7), encoders))  # type: ignore[arg-type]
        stream.write(TRAILER)


def typname(connection: psycopg.Connection, column: str) -> str:
    found = connection.execute(
        "SELECT t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid"
        " WHERE a.attrelid = 't'::regclass AND a.attname = %s",
        (column,),
    ).fetchone()
    assert found is not None
    return str(found[0])


@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("kind", "target", "make"), TYPES.values(), ids=list(TYPES))
def test_values_come_back_as_they_were(
    connection: psycopg.Connection,
    seed: int,
    *,
    kind: Any,
    target: str,
    make: Make,
    nulls: float,
) -> None:
    rng = random.Random(f"{seed} {target} {nulls}")
    values = [None if rng.random() < nulls else make(rng) for _ in range(60)]
    batch = pa.record_batch({"n": pa.array(range(60)), "v": pa.array(values, kind)})
    connection.execute(f"CREATE TABLE t (n bigint, v {target})".encode())
    copy(connection, batch, ["int8", typname(connection, "v")])
    read = connection.execute("SELECT v FROM t ORDER BY n").fetchall()
    whole = connection.execute("SELECT count(*) FROM t").fetchone()
    assert whole == (60,)
    expected = [as_read(value, target) for value in pa.array(values, kind).to_pylist()]
    if target in ("json", "jsonb"):
        expected = [None if value is None else json.loads(value) for value in expected]
    assert [row[0] for row in read] == expected


def test_many_columns_side_by_side(connection: psycopg.Connection, seed: int) -> None:
    rng = random.Random(seed)
    names = [name for name in TYPES if "json" not in name and "uuid" not in name]
    arrays = {}
    for name in names:
        kind, _, make = TYPES[name]
        values = [None if rng.random() < 0.1 else make(rng) for _ in range(500)]
        arrays[name] = pa.array(values, kind)
    batch = pa.record_batch({"n": pa.array(range(500)), **arrays})
    columns = ", ".join(f'"{name}" {TYPES[name][1]}' for name in names)
    connection.execute(f"CREATE TABLE t (n bigint, {columns})".encode())
    copy(connection, batch, [typname(connection, name) for name in ["n", *names]])
    read = connection.execute("SELECT * FROM t ORDER BY n").fetchall()
    for place, name in enumerate(["n", *names]):
        assert [row[place] for row in read] == batch.column(name).to_pylist(), name


@pytest.mark.parametrize("kind", [kind for kind, _, _ in TYPES.values()], ids=list(TYPES))
def test_a_type_that_is_suggested_takes_the_column(
    connection: psycopg.Connection, kind: Any
) -> None:
    connection.execute(f"CREATE TABLE t (v {suggest_type(kind)})".encode())
    assert find_encoder(kind, typname(connection, "v")) is not None


REFUSED = {
    "text into integer": (pa.string(), "int4"),
    "bigint into integer": (pa.int64(), "int4"),
    "double into real": (pa.float64(), "float4"),
    "a zone into none": (pa.timestamp("us", "UTC"), "timestamp"),
    "none into a zone": (pa.timestamp("us"), "timestamptz"),
    "decimal into double": (pa.decimal128(10, 2), "float8"),
    "a struct": (pa.struct([("a", pa.int64())]), "jsonb"),
    "a list of lists": (pa.list_(pa.list_(pa.int64())), "_int8"),
    "a list into text": (pa.list_(pa.int64()), "text"),
    "a type nobody knows": (pa.string(), "tsvector"),
}


@pytest.mark.parametrize(("kind", "target"), REFUSED.values(), ids=list(REFUSED))
def test_what_would_not_be_exact_is_refused(kind: Any, target: str) -> None:
    assert find_encoder(kind, target) is None
