"""The suite that is shipped for users' own sinks finds a bug that is planted in one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast.sinks.sink import KINDS
from holdfast.testing.sink_batches import Batches
from holdfast.testing.sink_contract import SinkContract
from tests.kinds.sqlite_sink import Sqlite, rows_in

Connection = sqlite3.Connection


class Suite(SinkContract):
    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        del spark
        return rows_in(sink)


def _keeps_nothing(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    Sqlite.take_rows(self, connection, copy, after=after)
    connection.execute(f'DELETE FROM "{copy}"')


def _takes_all(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    del after
    Sqlite.take_rows(self, connection, copy, after=None)


def _commits(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    Sqlite.take_rows(self, connection, copy, after=after)
    connection.execute("COMMIT")
    connection.execute("BEGIN IMMEDIATE")


def _leaves_the_rows(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    del after
    connection.execute(f'CREATE TABLE "{copy}" AS SELECT * FROM {self.table}')


def _once_each(self: Sqlite, connection: Connection, copy: str) -> None:
    connection.execute(f'INSERT INTO {self.table} SELECT DISTINCT * FROM "{copy}"')


def _always_the_same(self: Sqlite, connection: Connection) -> str:
    del self, connection
    return "0 0"


def _without_nulls(self: Sqlite, connection: Connection) -> list[tuple[Any, ...]]:
    return [row for row in Sqlite.read_back(self, connection) if None not in row]


RESET = Suite.test_an_undo_of_a_reset_gives_its_rows_back
BUGS: dict[str, tuple[str, Callable[..., Any], Callable[..., None]]] = {
    "a copy is empty": ("take_rows", _keeps_nothing, RESET),
    "rows stay": ("take_rows", _leaves_the_rows, RESET),
    "equal rows come back once": ("put_back", _once_each, RESET),
    "all rows are taken": (
        "take_rows",
        _takes_all,
        Suite.test_the_sink_goes_back_to_an_older_version,
    ),
    "rows are taken in a commit of their own": (
        "take_rows",
        _commits,
        Suite.test_what_cannot_be_settled_is_left_as_it_was,
    ),
    "versions do not change": ("version", _always_the_same, Suite.test_another_writer_is_noticed),
    "rows with NULL are not read": (
        "read_back",
        _without_nulls,
        Suite.test_the_rows_can_be_read_back,
    ),
}


@pytest.fixture
def _kind() -> Iterator[None]:
    yield
    KINDS.pop("broken", None)


@pytest.mark.usefixtures("_kind")
@pytest.mark.parametrize(("method", "bug", "finds"), BUGS.values(), ids=list(BUGS))
def test_a_planted_bug_is_found(
    *,
    method: str,
    bug: Callable[..., Any],
    finds: Callable[..., None],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    broken: Any = dataclass(frozen=True)(type("Broken", (Sqlite,), {"kind": "broken", method: bug}))
    sink, batches = broken(path=str(tmp_path / "readings.sqlite")), Batches(spark)
    writer = batches.start(sink)
    assert writer.ledger is not None
    assert writer.ledger.replace(None, batches.row(writer))
    with pytest.raises(AssertionError):
        finds(Suite(), sink, writer, batches)
    writer.close()
