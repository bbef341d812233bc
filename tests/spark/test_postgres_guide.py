"""The guide to PostgreSQL: its types are those that are taken, its grants enough, its SQL runs."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

import holdfast as hf
from holdfast.sinks.postgres.ledger_tables import ddl
from holdfast.sinks.postgres.types import find_encoder
from lab import Postgres
from tests.house.repository import ROOT
from tests.spark.file_stream import wait_until_given_up

PAGE = (ROOT / "docs/guides/postgresql.md").read_text()
TYPES = dict(re.findall(r"^\| `([a-z_0-9(),<>]+)` \| ((?:`\w+` ?)+)\|$", PAGE, re.MULTILINE))
SQL = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
GRANTS = [block for block in SQL if block.startswith("GRANT") and "stream_role" in block]
PARTITIONED = [block for block in SQL if "inhparent" in block]
QUERIES = [block for block in SQL if block.startswith("SELECT") and block not in PARTITIONED]
BUILT_IN = "bool bytea int2 int4 int8 float4 float8 numeric text varchar bpchar name citext json"
NAMES = f"{BUILT_IN} jsonb uuid date time timetz timestamp timestamptz interval xml inet".split()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("spark_type", TYPES)
def test_a_type_of_spark_goes_into_exactly_the_types_shown(spark_type: str) -> None:
    kind = to_arrow_type(DataType.fromDDL(spark_type), timezone="UTC")
    every = [*NAMES, *(f"_{name}" for name in NAMES)]
    taken = {name for name in every if find_encoder(kind, name) is not None}
    assert taken == set(re.findall(r"`(\w+)`", TYPES[spark_type]))


@dataclass(frozen=True)
class Limited:
    """A database with the ledger's tables, and a role with the rights that the page grants."""

    owner: str
    role: str

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.owner) as connection:
            return connection.execute(statement.encode()).fetchall()


@pytest.fixture
def limited(postgres: Postgres) -> Iterator[Limited]:
    name = f"stream_{uuid.uuid4().hex[:12]}"
    owner = postgres.create_database(name)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"REVOKE CREATE ON DATABASE {name} FROM PUBLIC".encode())
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'loopback-only'".encode())
        connection.execute(ddl().encode())
        connection.execute("CREATE TABLE readings (value text)")
        connection.execute("CREATE TABLE latest (value text PRIMARY KEY)")
        for grants in GRANTS:
            connection.execute(grants.replace("stream_role", name).encode())
    yield Limited(owner, owner.replace("user=postgres", f"user={name}"))
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


def run(
    limited: Limited, spark: SparkSession, here: Path, *, table: str, keys: Sequence[str] = ()
) -> None:
    """Run a stream of files into a table, as the role."""
    query = hf.start(
        spark.readStream.format("text").load(str(here / "in")),
        stream=table,
        root=str(here / "streams"),
        into=hf.Postgres(lambda: limited.role, table=table, keys=keys),
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    wait_until_given_up()


def test_the_rights_on_the_page_are_enough_and_its_queries_run(
    limited: Limited, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for number, line in enumerate("ab"):  # two starts: the second also looks into the table
        (tmp_path / f"in/{number}").write_text(f"{line}\n")
        run(limited, spark, tmp_path, table="readings")
        run(limited, spark, tmp_path, table="latest", keys=["value"])
    for table in ("readings", "latest"):
        assert limited.rows(f"SELECT value FROM {table} ORDER BY 1") == [("a",), ("b",)]
    where, hour, starts, holes, counts, writing = map(limited.rows, QUERIES)
    assert [row[:6] for row in where] == [
        ("readings", "readings", 1, 2, 1, 1),
        ("latest", "latest", 1, 2, 1, 1),
    ]
    assert {row[:4] for row in hour} == {("readings", "readings", 2, 2), ("latest", "latest", 2, 2)}
    assert [row[:4] for row in starts] == [
        (stream, epoch, epoch - 1, epoch - 1)
        for stream in ("latest", "readings")
        for epoch in (1, 2)
    ]
    assert (holes, counts, writing) == ([], [(2, 2)], [])


def test_the_statements_of_a_partitioned_table_run(postgres: Postgres) -> None:
    counting, detaching = PARTITIONED
    (name,) = re.findall(r'PARTITION "(\w+)"', detaching)
    with psycopg.connect(
        postgres.create_database(f"page_{uuid.uuid4().hex[:12]}"), autocommit=True
    ) as connection:
        connection.execute("CREATE TABLE readings (value text) PARTITION BY LIST (value)")
        part = f"CREATE TABLE {name} PARTITION OF readings FOR VALUES IN ('a')"
        connection.execute(part.encode())
        connection.execute("INSERT INTO readings VALUES ('a')")
        assert connection.execute(counting.encode()).fetchall() == [(1,)]
        sizes, detach, _ = detaching.split(";")
        assert connection.execute(sizes.encode()).fetchall() == [(name, "8192 bytes")]
        connection.execute(detach.encode())
        assert connection.execute(counting.encode()).fetchall() == [(0,)]


def test_the_rights_on_the_page_are_enough_to_find_an_emptied_table(
    limited: Limited, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/0").write_text("a\n")
    run(limited, spark, tmp_path, table="readings")
    with psycopg.connect(limited.owner) as connection:
        connection.execute("TRUNCATE readings")
    with pytest.raises(hf.StartRefusedError, match="HF608"):
        run(limited, spark, tmp_path, table="readings")
