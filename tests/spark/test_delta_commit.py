"""One commit to a real Delta table: as whom, with which note, and which row of a key stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from holdfast.formats.delta_log import newest_version, read_commit
from holdfast.proof.multiset import compare
from holdfast.sinks.delta.commit import COMMITTING, Identity, append, merge
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.table import find_target, make_table
from holdfast.sinks.delta.target import Target
from holdfast.storage import open_reader

KEYED = "`a-key` int, k2 string, at int, `te``xt` string"
Row = tuple[Any, ...]


def identity(version: int) -> Identity:
    return Identity(app="holdfast/readings/gold", version=version, note=f"note {version}")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


def rows(session: SparkSession, schema: str, *values: Row) -> DataFrame:
    return session.createDataFrame(list(values), schema).coalesce(1)


def content(session: SparkSession, target: Target) -> list[Row]:
    return [tuple(row) for row in session.sql(f"SELECT * FROM {target.name}").collect()]


def opened(df: DataFrame, path: Path, *keys: str, sequence_by: str | None = None) -> Target:
    return _opened(df, Delta(path=str(path), keys=keys, sequence_by=sequence_by))


def _opened(df: DataFrame, sink: Delta) -> Target:
    make_table(df, sink)
    return find_target(df, sink)


def check(session: SparkSession, target: Target, *expected: Row) -> None:
    assert compare(expected, content(session, target)).exact, content(session, target)


def newest(target: Target) -> tuple[int, dict[str, int], str]:
    """Return the newest version of a table, what it sets and its note."""
    version = newest_version(target.reader)
    assert version is not None
    commit = read_commit(target.reader, version)
    assert commit is not None
    return version, dict(commit.transactions), commit.note


def test_rows_are_appended_as_somebody_and_once(session: SparkSession, tmp_path: Path) -> None:
    one = rows(session, "value string", ("a",))
    target = opened(one, tmp_path / "table")
    append(one, target, identity(5))
    assert newest(target) == (1, {"holdfast/readings/gold": 5}, "note 5")
    append(one, target, identity(5))
    append(rows(session, "value string"), target, identity(6))
    assert newest(target) == (2, {"holdfast/readings/gold": 6}, "note 6")
    check(session, target, ("a",))


def test_rows_are_appended_to_a_table_by_its_name(session: SparkSession) -> None:
    one = rows(session, "value string", ("a",))
    session.sql("CREATE DATABASE IF NOT EXISTS pond")
    try:
        target = _opened(one, Delta(table="pond.gold"))
        append(one, target, identity(1))
        assert newest(target) == (1, {"holdfast/readings/gold": 1}, "note 1")
        check(session, target, ("a",))
    finally:
        session.sql("DROP DATABASE pond CASCADE")


def test_the_newest_row_of_a_key_stays_and_of_two_the_larger(
    session: SparkSession, tmp_path: Path
) -> None:
    """One batch of every case that a row can meet in the table, and one of those in a batch."""
    first = rows(
        session,
        KEYED,
        (1, "newer comes", 5, "z"),
        (2, "older comes", 5, "a"),
        (3, "the larger comes", 5, "b"),
        (4, "the smaller comes", 5, "b"),
        (5, "a NULL comes", 5, "b"),
        (6, "a NULL is there", 5, None),
        (7, "order there is NULL", None, "z"),
        (8, "order that comes is NULL", 5, "a"),
        (9, "both NULL, the larger comes", None, "a"),
        (10, "both NULL, the smaller comes", None, "b"),
        (11, "the same key", 5, "a"),
        (11, "and another", 5, "b"),
    )
    target = opened(first, tmp_path / "table", "a-key", "k2", sequence_by="at")
    merge(first, target, identity(5))
    assert newest(target) == (1, {"holdfast/readings/gold": 5}, "note 5")
    second = rows(
        session,
        KEYED,
        (1, "newer comes", 6, "a"),
        (2, "older comes", 4, "z"),
        (3, "the larger comes", 5, "c"),
        (4, "the smaller comes", 5, "a"),
        (5, "a NULL comes", 5, None),
        (6, "a NULL is there", 5, "z"),
        (7, "order there is NULL", 1, "a"),
        (8, "order that comes is NULL", None, "z"),
        (9, "both NULL, the larger comes", None, "b"),
        (10, "both NULL, the smaller comes", None, "a"),
        (12, "of two the newer", 6, "a"),
        (12, "of two the newer", 5, "z"),
        (13, "of two the one with an order", None, "z"),
        (13, "of two the one with an order", 1, "a"),
        (14, "of two the larger", 5, "a"),
        (14, "of two the larger", 5, "b"),
        (15, "of two the NULL", 5, "z"),
        (15, "of two the NULL", 5, None),
    )
    merge(second, target, identity(6))
    check(
        session,
        target,
        (1, "newer comes", 6, "a"),
        (2, "older comes", 5, "a"),
        (3, "the larger comes", 5, "c"),
        (4, "the smaller comes", 5, "b"),
        (5, "a NULL comes", 5, None),
        (6, "a NULL is there", 5, None),
        (7, "order there is NULL", 1, "a"),
        (8, "order that comes is NULL", 5, "a"),
        (9, "both NULL, the larger comes", None, "b"),
        (10, "both NULL, the smaller comes", None, "b"),
        (11, "the same key", 5, "a"),
        (11, "and another", 5, "b"),
        (12, "of two the newer", 6, "a"),
        (13, "of two the one with an order", 1, "a"),
        (14, "of two the larger", 5, "b"),
        (15, "of two the NULL", 5, None),
    )
    assert [session.conf.get(setting, None) for setting in COMMITTING] == [None] * 3


def test_without_an_order_the_later_batch_stays_and_nothing_may_come_twice(
    session: SparkSession, tmp_path: Path
) -> None:
    one = rows(session, "id int, value string", (1, "z"), (2, "z"))
    target = opened(one, tmp_path / "table", "id")
    merge(one, target, identity(1))
    merge(rows(session, "id int, value string", (1, "a"), (3, "b")), target, identity(2))
    check(session, target, (1, "a"), (2, "z"), (3, "b"))
    for bad, says in (
        ([(4, "a"), (4, "a")], "a key comes twice in one batch"),
        ([(None, "a")], "a row has a NULL in its key id"),
    ):
        with pytest.raises((PySparkException, Py4JJavaError), match=says):
            merge(rows(session, "id int, value string", *bad), target, identity(3))
        assert [session.conf.get(setting, None) for setting in COMMITTING] == [None] * 3
    assert newest(target)[0] == 2
    check(session, target, (1, "a"), (2, "z"), (3, "b"))


def test_where_a_column_has_no_order_ties_end_the_same_however_they_fall(
    session: SparkSession, tmp_path: Path
) -> None:
    schema = "id int, at int, `m``p` map<string,int>"
    values = [(1, 5, {"a": 1}), (1, 5, {"b": 2}), (1, 5, {"c": 3}), (1, 5, {})]
    together = rows(session, schema, *values)
    ends = set()
    for number, batches in enumerate(
        (
            [together],
            *[[rows(session, schema, each) for each in values[:: (-1) ** n]] for n in (0, 1)],
        )
    ):
        target = opened(together, tmp_path / str(number), "id", sequence_by="at")
        assert not target.is_ordered
        for version, batch in enumerate(batches):
            merge(batch, target, identity(version))
        ((_, _, kept),) = content(session, target)
        ends.add(str(kept))
    assert len(ends) == 1


@pytest.mark.parametrize("evolves", [False, True])
def test_a_new_column_is_added_only_where_that_is_asked_for(
    session: SparkSession, tmp_path: Path, *, evolves: bool
) -> None:
    session.conf.set("spark.databricks.delta.schema.autoMerge.enabled", str(evolves).lower())
    old = rows(session, "id int, value string", (1, "a"), (2, "b"))
    target = opened(old, tmp_path / "table", "id")
    merge(old, target, identity(1))
    more = rows(session, "id int, value string, more int", (2, "c", 7), (3, "d", 8))
    if evolves:
        merge(more, target, identity(2))
        check(session, target, (1, "a", None), (2, "c", 7), (3, "d", 8))
    else:
        with pytest.raises((PySparkException, Py4JJavaError), match="MERGE_UNRESOLVED"):
            merge(more, target, identity(2))
    assert open_reader(str(tmp_path / "table")).location == target.reader.location
