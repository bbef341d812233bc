"""`hf.Database` and what others do to its table: while it runs, in the batch, and while stopped."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.ledger import NO_BATCH, Apply, LedgerRow, Reason, Refuse
from holdfast.ledger.output import COPY, EmptyOutput
from holdfast.sinks.database.failures import LedgerTableError
from holdfast.sinks.failures import TableError
from holdfast.sinks.table_changed import TableChangedError
from lab.mariadb import MariaDB
from tests.spark.database_writers import (
    STREAM,
    Into,
    batch_of,
    batches,
    numbered,
    once,
    schema_of,
    without_spark,
)

CHANGES = {
    "emptied": ["DELETE FROM readings"],
    "truncated": ["TRUNCATE readings"],
    "dropped": ["DROP TABLE readings"],
    "renamed": ["RENAME TABLE readings TO elsewhere"],
    "replaced": [
        "DROP TABLE readings",
        "CREATE TABLE readings (id bigint, name text CHARACTER SET utf8mb4)",
    ],
    "truncated and written to": ["TRUNCATE readings", "INSERT INTO readings VALUES (-1, 'x')"],
    "narrowed": ["ALTER TABLE readings MODIFY id int"],
    "in another character set": ["ALTER TABLE readings CONVERT TO CHARACTER SET latin1"],
    "with a column that must be given": ["ALTER TABLE readings ADD x int NOT NULL"],
    "without a column": ["ALTER TABLE readings DROP name"],
    "in another engine": ["ALTER TABLE readings ENGINE=MyISAM"],
}
IN_SQLITE = {
    "emptied": ["DELETE FROM readings"],
    "dropped": ["DROP TABLE readings"],
    "renamed": ["ALTER TABLE readings RENAME TO elsewhere"],
    "replaced": ["DROP TABLE readings", "CREATE TABLE readings (id INTEGER, name TEXT)"],
    "replaced and written to": [
        "DROP TABLE readings",
        "CREATE TABLE readings (id INTEGER, name TEXT)",
        "INSERT INTO readings VALUES (-1, 'x')",
    ],
    "with a column that must be given": [
        "CREATE TABLE other (id INTEGER, name TEXT, x NOT NULL)",
        "INSERT INTO other SELECT *, 1 FROM readings",
        "DROP TABLE readings",
        "ALTER TABLE other RENAME TO readings",
    ],
}
SEEN_AT_STARTS_BY_THE_CHECK = (
    *("narrowed", "in another character set", "with a column that must be given"),
    *("without a column", "in another engine", "dropped", "renamed"),
)
HARMLESS = {
    "with an index more": ["ALTER TABLE readings ADD INDEX (id)"],
    "with a column more": ["ALTER TABLE readings ADD x int"],
    "rewritten": ["OPTIMIZE TABLE readings"],
    "with rows of others": ["INSERT INTO readings VALUES (-1, 'x')"],
    "without some rows": ["DELETE FROM readings WHERE id < 5"],
}


pytestmark = pytest.mark.sampled(8)


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


@pytest.fixture
def into(request: pytest.FixtureRequest, tmp_path: Path) -> Into:
    kind = getattr(request, "param", "mariadb")
    server = None if kind == "sqlite" else request.getfixturevalue("mariadb")
    return Into.make(kind, mariadb=server, directory=tmp_path).create()


CASES = [
    *(pytest.param("mariadb", each, CHANGES[each], id=f"mariadb, {each}") for each in CHANGES),
    *(pytest.param("sqlite", each, IN_SQLITE[each], id=f"sqlite, {each}") for each in IN_SQLITE),
]


@pytest.mark.parametrize(("into", "name", "statements"), CASES, indirect=["into"])
def test_a_table_that_lost_its_rows_takes_no_more_batches(
    into: Into, name: str, statements: list[str]
) -> None:
    """While the stream runs; and the next start says so, or refuses the table itself."""
    writer = into.first()
    for number in range(2):
        assert writer.write(into.attempt(number), numbered(number)) == Apply()
    for statement in statements:
        into.ask(statement)
    with pytest.raises(TableChangedError):
        writer.write(into.attempt(2), numbered(2))
    writer.close()
    if name in SEEN_AT_STARTS_BY_THE_CHECK:
        with pytest.raises(TableError):
            into.start()
        return
    again = into.start()
    row = again.ledger.read(STREAM)
    assert isinstance(row, LedgerRow)
    assert again.ledger.examine(row) is not None
    again.close()


@pytest.mark.parametrize("name", HARMLESS)
def test_what_takes_no_rows_away_stops_nothing(into: Into, name: str) -> None:
    writer = into.first()
    for number in range(2):
        assert writer.write(into.attempt(number), numbered(number)) == Apply()
    for statement in HARMLESS[name]:
        into.ask(statement)
    before = into.rows()
    assert writer.write(into.attempt(2), numbered(2)) == Apply()
    assert into.rows().total() == before.total() + 20
    row = writer.ledger.read(STREAM)
    assert isinstance(row, LedgerRow)
    assert writer.ledger.examine(row) is None
    writer.close()


@pytest.mark.parametrize("statement", ["TRUNCATE readings", "DROP TABLE readings"])
def test_in_the_batch_a_table_cannot_be_taken_away(into: Into, statement: str) -> None:
    """Whoever tries waits until the batch is there; and the next batch sees it."""
    writer, threads = into.first(), list[threading.Thread]()
    assert writer.write(into.attempt(0), numbered(0)) == Apply()

    def waiting() -> int:
        assert into.mariadb is not None
        found = into.mariadb.ask(
            "SELECT count(*) FROM information_schema.processlist"
            f" WHERE db = '{into.database}' AND state LIKE 'Waiting for table metadata%'"
        )
        return int(found[0][0])

    def strike(_: int) -> None:
        threads.append(threading.Thread(target=into.ask, args=(statement,)))
        threads[0].start()
        while not waiting():
            pass

    assert writer.write(into.attempt(1), numbered(1), before_commit=strike) == Apply()
    threads[0].join()
    with pytest.raises(TableChangedError):
        writer.write(into.attempt(2), numbered(2))
    writer.close()


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ("id bigint, name text CHARACTER SET utf8mb4) ENGINE=MyISAM COMMENT=('", "engine"),
        ("id bigint, name text CHARACTER SET utf8mb4) ENGINE=Aria COMMENT=('", "engine"),
    ],
)
def test_a_table_that_takes_no_row_back_is_refused(
    mariadb: object, tmp_path: Path, *, columns: str, why: str
) -> None:
    into = Into.make("mariadb", mariadb=mariadb, directory=tmp_path)  # type: ignore[arg-type]
    into.ask(f"CREATE TABLE readings ({columns.partition(' COMMENT')[0]}")
    with pytest.raises(TableError, match=why) as refused:
        into.start()
    into.ask(refused.value.sql)
    into.start().close()


def test_a_view_is_refused(into: Into) -> None:
    into.ask("RENAME TABLE readings TO real_ones")
    into.ask("CREATE VIEW readings AS SELECT * FROM real_ones")
    with pytest.raises(TableError, match="view"):
        into.start()


def test_a_ledger_of_another_version_is_not_used(into: Into) -> None:
    writer = into.first()
    into.ask("UPDATE holdfast_ledger SET version = 2")
    with pytest.raises(LedgerTableError):
        writer.write(into.attempt(0), numbered(0))
    writer.close()


def test_a_user_without_more_rights_than_needed_can_write(into: Into) -> None:
    """SELECT, INSERT, UPDATE and DELETE on two tables, and no look at others' sessions."""
    into.first().close()
    assert into.mariadb is not None
    user = f"u{into.database[-10:]}"
    into.mariadb.ask(f"CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY 'pw'")
    for table in ("readings", "holdfast_ledger"):
        rights = "SELECT, INSERT, UPDATE, DELETE"
        into.ask(f"GRANT {rights} ON {into.database}.{table} TO '{user}'@'127.0.0.1'")
    into.url = f"mariadb://{user}:pw@127.0.0.1:{into.mariadb.port}/{into.database}"
    later: list[object] = []
    writer = into.fence()
    attempt = into.attempt(0, epoch=2, nonce="n2")
    hook = once(lambda: later.append(into.fence(3)))
    assert writer.write(attempt, numbered(0), before_commit=hook) == Refuse(Reason.EPOCH_FENCED)
    assert later
    assert into.rows() == batches(0)


def test_a_file_that_was_replaced_takes_no_more_batches(tmp_path: Path) -> None:
    into = Into.make("sqlite", mariadb=None, directory=tmp_path).create()
    writer = into.first()
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    into.ask(f"VACUUM INTO '{into.database}.bak'")
    for ending in ("", "-wal", "-shm"):
        Path(into.database + ending).unlink(missing_ok=True)
    with pytest.raises(TableChangedError, match="deleted or replaced"):
        writer.write(into.attempt(1), numbered(1))
    Path(f"{into.database}.bak").rename(into.database)
    with pytest.raises(TableChangedError, match="deleted or replaced"):
        writer.write(into.attempt(1), numbered(1))
    writer.close()
    assert into.rows() == batches(1)
    later = into.fence()
    assert later.write(into.attempt(1, epoch=2, nonce="n2"), numbered(1)) == Apply()
    assert into.rows() == batches(2)
    later.close()


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE other (x)", "CREATE INDEX ids ON readings (id)", "DROP TABLE unused"],
)
def test_what_is_made_beside_a_table_of_sqlite_stops_nothing(
    tmp_path: Path, statement: str
) -> None:
    into = Into.make("sqlite", mariadb=None, directory=tmp_path)
    into.ask("CREATE TABLE unused (x)")
    into.create()
    writer = into.first()
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    into.ask("DELETE FROM readings WHERE id = 3")
    into.ask(statement)
    assert writer.write(into.attempt(1), numbered(1)) == Apply()
    row = writer.ledger.read(STREAM)
    assert isinstance(row, LedgerRow)
    assert writer.ledger.examine(row) is None
    writer.close()


def test_the_newest_table_of_a_file_cannot_be_created_again_unseen(tmp_path: Path) -> None:
    """SQLite gives the new one the number that the old one had."""
    into = Into.make("sqlite", mariadb=None, directory=tmp_path).create()
    writer = into.first()
    for statement in IN_SQLITE["replaced"]:  # behind the ledger
        into.ask(statement)
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    for statement in IN_SQLITE["replaced and written to"]:
        into.ask(statement)
    with pytest.raises(TableChangedError, match="it holds 1 rows"):
        writer.write(into.attempt(1), numbered(1))
    writer.close()


@pytest.mark.parametrize("kind", ["insert", "load", "sqlite"])
def test_names_can_have_any_character(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    server = None if kind == "sqlite" else request.getfixturevalue("mariadb")
    into = Into.make(kind, mariadb=server, directory=tmp_path)
    text, quote = ("TEXT", '"') if kind == "sqlite" else ("text CHARACTER SET utf8mb4", "`")
    column = "of %d?"
    into.schema = schema_of(id="bigint", **{column: "string"})
    for name, keys in (("100% s%s?", ()), ("50%", ("id",))):
        into.table = f"{quote}{name}{quote}"
        into.create(f"id bigint PRIMARY KEY, {quote}{column}{quote} {text}")
        into.table = name
        writer = into.first(keys=keys)
        for number in range(2):
            batch = batch_of(into.schema, [(number, "100%")])
            assert writer.write(into.attempt(number), batch) == Apply()
        assert writer.ledger.count_rows() == 2
        new = replace(into.row, generation=2, epoch=2, nonce="n2", last_batch=NO_BATCH)
        row = writer.ledger.read(STREAM)
        assert isinstance(row, LedgerRow)
        copy = EmptyOutput(kept=f"{COPY}test_{len(keys)}")
        assert writer.ledger.settle(row, new, copy)
        assert writer.ledger.count_rows() == 0
        writer.close()


def test_a_limit_of_the_server_hides_no_rows(mariadb: MariaDB, into: Into) -> None:
    mariadb.ask("SET GLOBAL sql_select_limit = 2")
    try:
        writer = into.first()
        assert writer.write(into.attempt(0), numbered(0)) == Apply()
        session = writer.ledger.session
        dialect, connection = session.dialect, session.connection()
        chunks = list(dialect.rows(connection, "SELECT * FROM readings"))
        assert sum(map(len, chunks)) == 20
        writer.close()
    finally:
        mariadb.ask("SET GLOBAL sql_select_limit = DEFAULT")
