"""`hf.Database` by keys: the newest row of each key stays, whatever order rows come in."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from holdfast.ledger import Apply
from holdfast.sinks.database.failures import DatabaseRefusedError
from holdfast.sinks.failures import TableError, UnmergeableRowsError, ValueRefusedError
from lab.mariadb import MariaDB
from tests.spark.database_writers import Into, batch_of, schema_of, without_spark

SCHEMA = schema_of(k="string", at="bigint", name="string", size="decimal(9,2)", n="int")
COLUMNS = {
    "mariadb": "k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,"
    " at bigint, name text CHARACTER SET utf8mb4, size decimal(9,2), n int",
    "sqlite": "k TEXT PRIMARY KEY, at INTEGER, name TEXT, size TEXT, n INTEGER",
}
Row = tuple[Any, ...]


pytestmark = pytest.mark.sampled(8)


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


@pytest.fixture(params=["insert", "load", "sqlite"])
def into(request: pytest.FixtureRequest, tmp_path: Path) -> Into:
    server = None if request.param == "sqlite" else request.getfixturevalue("mariadb")
    found = Into.make(request.param, mariadb=server, directory=tmp_path)
    found.schema = SCHEMA
    return found.create(COLUMNS[found.dialect])


def drawn(choose: random.Random) -> Row:
    """Return a row; many have one key, one order value, or differ in one column alone."""
    return (
        choose.choice(["a", "A", "ä", "b", "a\t"]),
        choose.choice([None, 1, 1, 2]),
        choose.choice([None, "x", "X", "x ", "ü", ""]),
        None,
        choose.choice([None, -1, 7]),
    )


def rank(row: Row) -> tuple[Any, ...]:
    """Return what orders the rows of a key, as the documentation says."""
    _, at, name, size, number = row
    texts = [(name is None, (name or "").encode())]
    return (
        at is not None,
        at or 0,
        *texts,
        (size is None, size or 0),
        (number is None, number or 0),
    )


def newest(rows: list[Row]) -> list[Row]:
    """Return the row of each key that must stay."""
    found: dict[str, Row] = {}
    for row in rows:
        if row[0] not in found or rank(row) > rank(found[row[0]]):
            found[row[0]] = row
    return sorted(found.values())


def test_the_same_rows_stay_however_they_fall_into_batches(into: Into, seed: int) -> None:
    choose = random.Random(seed)
    writer = into.first(keys=["k"], sequence_by="at")
    given: list[Row] = []
    for number in range(12):
        rows = [drawn(choose) for _ in range(choose.choice([0, 1, 3, 9]))]
        given += rows
        assert writer.write(into.attempt(number), batch_of(SCHEMA, rows)) == Apply()
        assert sorted(into.rows().elements()) == newest(given)
    kept = into.ask("SELECT brought FROM holdfast_ledger")
    assert kept == [(len(newest(given)),)]
    writer.close()


def test_a_later_batch_stays_without_an_order(into: Into) -> None:
    writer = into.first(keys=["k"])
    for number, name in enumerate("yxz"):
        batch = batch_of(SCHEMA, [("a", 1, name, None, 1), ("b", None, None, None, None)])
        assert writer.write(into.attempt(number), batch) == Apply()
    assert sorted(into.rows()) == [("a", 1, "z", None, 1), ("b", None, None, None, None)]
    twice = batch_of(SCHEMA, [("a", 1, "u", None, 1), ("a", 2, "v", None, 1)])
    with pytest.raises(UnmergeableRowsError):
        writer.write(into.attempt(3), twice)
    assert ("a", 1, "z", None, 1) in into.rows()
    writer.close()


def test_a_key_that_is_null_is_refused(into: Into) -> None:
    writer = into.first(keys=["k"], sequence_by="at")
    with pytest.raises((UnmergeableRowsError, ValueRefusedError)):
        writer.write(into.attempt(0), batch_of(SCHEMA, [(None, 1, "x", None, 1)]))
    assert not into.rows()
    writer.close()


REFUSED: list[tuple[str, str, StructType]] = [
    (
        "mariadb",
        "k varchar(9) CHARACTER SET utf8mb4 PRIMARY KEY, v int",
        schema_of(k="string", v="int"),
    ),
    ("mariadb", "k bigint, v int", schema_of(k="bigint", v="int")),
    ("mariadb", "k bigint, v int, UNIQUE (k, v)", schema_of(k="bigint", v="int")),
    ("mariadb", "k double PRIMARY KEY, v int", schema_of(k="double", v="int")),
    (
        "mariadb",
        "k varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, v int, UNIQUE (k(3))",
        schema_of(k="string", v="int"),
    ),
    ("sqlite", "k TEXT COLLATE NOCASE PRIMARY KEY, v INTEGER", schema_of(k="string", v="int")),
    ("sqlite", "k INTEGER, v INTEGER", schema_of(k="bigint", v="int")),
    ("sqlite", "k INTEGER PRIMARY KEY, v TEXT", schema_of(k="bigint", v="decimal(9,2)")),
]


@pytest.mark.parametrize(("dialect", "columns", "schema"), REFUSED)
def test_keys_that_the_table_compares_otherwise_are_refused(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    *,
    dialect: str,
    columns: str,
    schema: StructType,
) -> None:
    server = request.getfixturevalue("mariadb") if dialect == "mariadb" else None
    into = Into.make(dialect, mariadb=server, directory=tmp_path)
    into.schema = schema
    into.create(columns)
    with pytest.raises(TableError):
        into.start(keys=["k"], sequence_by="v")


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM"])
def test_keys_are_compared_as_the_unique_index_does_whatever_the_column_says(
    tmp_path: Path, collation: str
) -> None:
    into = Into.make("sqlite", mariadb=None, directory=tmp_path)
    into.schema = schema_of(k="string", v="string")
    into.create(f"k TEXT COLLATE {collation}, v TEXT")
    into.ask("CREATE UNIQUE INDEX by_bytes ON readings (k COLLATE BINARY)")
    writer, rows = into.first(keys=["k"]), [("A", "1"), ("b ", "2"), ("a", "3"), ("b", "4")]
    assert writer.write(into.attempt(0), batch_of(into.schema, rows[:2])) == Apply()
    assert writer.write(into.attempt(1), batch_of(into.schema, rows[2:])) == Apply()
    assert into.rows() == Counter(rows)
    writer.close()


def test_a_key_that_ends_in_a_space_is_refused_where_the_index_pads(
    mariadb: Any, tmp_path: Path
) -> None:
    into = Into.make("insert", mariadb=mariadb, directory=tmp_path)
    into.schema = schema_of(k="string", v="int")
    into.create("k varchar(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, v int")
    writer = into.first(keys=["k"])
    assert writer.write(into.attempt(0), batch_of(into.schema, [("a", 1)])) == Apply()
    with pytest.raises(ValueRefusedError):
        writer.write(into.attempt(1), batch_of(into.schema, [("a ", 2)]))
    assert list(into.rows()) == [("a", 1)]
    writer.close()


def test_a_second_unique_index_makes_no_row_of_another_key(into: Into) -> None:
    """ON DUPLICATE KEY UPDATE would change the row that has the same name."""
    into.ask("DELETE FROM readings")
    into.ask("CREATE UNIQUE INDEX numbers ON readings (n)")
    writer = into.first(keys=["k"], sequence_by="at")
    assert writer.write(into.attempt(0), batch_of(SCHEMA, [("a", 1, "x", None, 1)])) == Apply()
    with pytest.raises(DatabaseRefusedError):
        writer.write(into.attempt(1), batch_of(SCHEMA, [("b", 1, "y", None, 1)]))
    assert list(into.rows()) == [("a", 1, "x", None, 1)]
    writer.close()


LONG = {
    "mariadb": "k varchar(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY,"
    " at bigint, name longtext CHARACTER SET utf8mb4, size decimal(9,2), n int",
    "sqlite": COLUMNS["sqlite"],
}


@pytest.fixture
def long(into: Into) -> Into:
    into.ask("DROP TABLE readings")
    return into.create(LONG[into.dialect])


@pytest.mark.parametrize("length", [1_100, 16_300])
def test_texts_are_told_apart_by_their_ends(long: Into, seed: int, length: int) -> None:
    choose = random.Random(seed)
    writer, prefix = long.first(keys=["k"], sequence_by="at"), "é" * 600
    rows: list[Row] = [
        (prefix + key, at, "x" * length + end, None, None)
        for key in "ABC"
        for at in (1, 2, 2, 2)
        for end in "bca"
    ]
    choose.shuffle(rows)
    for number, part in enumerate((rows[:20], rows[20:], rows[:9])):
        assert writer.write(long.attempt(number), batch_of(SCHEMA, part)) == Apply()
    found = [(row[0][-1], row[1], row[2][-1]) for row in long.ask("SELECT * FROM readings")]
    assert sorted(found) == [(key, 2, "c") for key in "ABC"]


@pytest.mark.parametrize("order", [1, -1])
def test_longer_ties_are_refused_or_told_apart(long: Into, order: int) -> None:
    writer, same = long.first(keys=["k"], sequence_by="at"), "x" * 70_000
    once_each = batch_of(SCHEMA, [("a", 1, same + "b", None, None), ("b", 1, same, None, None)])
    assert writer.write(long.attempt(0), once_each) == Apply()
    tied = [("c", 1, same + end, None, None) for end in "bca"][::order]
    if long.dialect == "sqlite":
        assert writer.write(long.attempt(1), batch_of(SCHEMA, tied)) == Apply()
        assert [row[2][-1] for row in long.ask("SELECT * FROM readings WHERE k = 'c'")] == ["c"]
        return
    with pytest.raises(UnmergeableRowsError, match="one at and values over"):
        writer.write(long.attempt(1), batch_of(SCHEMA, tied))
    assert len(long.ask("SELECT k FROM readings")) == 2
    # One row after the other is compared, and not sorted.
    for number, row in enumerate(tied, start=1):
        assert writer.write(long.attempt(number), batch_of(SCHEMA, [row])) == Apply()
    assert [row[2][-1] for row in long.ask("SELECT * FROM readings WHERE k = 'c'")] == ["c"]


def test_keys_that_cannot_be_sorted_are_refused(mariadb: MariaDB, tmp_path: Path) -> None:
    into = Into.make("insert", mariadb=mariadb, directory=tmp_path)
    into.schema = SCHEMA
    unique = "k longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin, UNIQUE (k)"
    into.create(f"{unique}, at bigint, name text CHARACTER SET utf8mb4, size decimal(9,2), n int")
    writer = into.first(keys=["k"])
    rows = [("x" * 16_380 + end, 1, None, None, None) for end in "ab"]
    assert writer.write(into.attempt(0), batch_of(SCHEMA, rows)) == Apply()
    rows = [("x" * 16_384 + end, 1, None, None, None) for end in "ab"]
    with pytest.raises(UnmergeableRowsError, match="more than 16,384 bytes in k"):
        writer.write(into.attempt(1), batch_of(SCHEMA, rows))


def test_many_long_texts_can_be_sorted(mariadb: MariaDB, tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(12)]
    into = Into.make("insert", mariadb=mariadb, directory=tmp_path)
    into.schema = schema_of(k="int", at="int", **dict.fromkeys(names, "string"))
    texts = ", ".join(f"{name} longtext CHARACTER SET utf8mb4" for name in names)
    into.create(f"k int PRIMARY KEY, at int, {texts}")
    writer = into.first(keys=["k"], sequence_by="at")
    rows = [(key, 1, *("x" * 1_500 for _ in names[1:]), end) for key in range(40) for end in "bca"]
    assert writer.write(into.attempt(0), batch_of(into.schema, rows)) == Apply()
    assert set(into.ask("SELECT c11 FROM readings")) == {("c",)}
