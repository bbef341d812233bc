"""Bugs of a user's sink: at least one for each clause of the contract of sinks.

A bug is what a class has in the place of the attributes of a sink that has none.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import holdfast as hf
from holdfast.ledger import Attempt, Decision, LedgerRow, Refuse
from holdfast.ledger.output import Output
from holdfast.ledger.store import Since
from holdfast.sinks.user.ledger import UserLedgerStore
from holdfast.sinks.user.writer import UserSinkWriter
from tests.kinds.sqlite_sink import Sqlite

Connection = sqlite3.Connection
Bug = Mapping[str, Any]


# What a sink is.


def _is_same_object(self: Sqlite, other: object) -> bool:
    return self is other


# How it begins.


def _creates_the_table_anew(self: Sqlite, connection: Connection, df: Any) -> None:
    connection.execute(f"DROP TABLE IF EXISTS {self.table}")
    Sqlite.create(self, connection, df)


def _expects_a_ledger(self: Sqlite, connection: Connection, key: str) -> str | None:
    del self
    query = "SELECT row FROM holdfast_ledger WHERE key = ?"
    found = connection.execute(query, (key,)).fetchone()
    return found[0] if found else None


# How it writes.


def _writes_equal_rows_once(self: Sqlite, connection: Connection, batch: Any) -> None:
    rows = dict.fromkeys(tuple(row) for row in batch.toLocalIterator())
    connection.executemany(f"INSERT INTO {self.table} VALUES (?, ?)", rows)


def _keeps_the_first_text(self: Sqlite, connection: Connection, *entry: str) -> None:
    del self
    connection.execute("INSERT OR IGNORE INTO holdfast_ledger VALUES (?, ?)", entry)


class _WritesWhatIsRefused(UserSinkWriter):
    def write(self, attempt: Attempt, batch: Any, **more: Any) -> Decision:
        decision = super().write(attempt, batch, **more)
        if isinstance(decision, Refuse):
            self._sink.write_batch(self.ledger.connection(), batch)
        return decision


class _LooksAtTheNumberOnly(UserSinkWriter):
    """Decides about a batch as if all else of it were what the ledger row expects."""

    ignored = ""

    def write(self, attempt: Attempt, batch: Any, **more: Any) -> Decision:
        row = self.ledger.read(attempt.stream)
        if isinstance(row, LedgerRow):
            expected: dict[str, Any] = {
                "start_offsets": row.end_offsets,
                "generation": row.generation,
                "binding": row.binding,
            }
            attempt = replace(attempt, **{self.ignored: expected[self.ignored]})
        return super().write(attempt, batch, **more)


@contextmanager
def _without_a_transaction(self: Sqlite, connection: Connection) -> Iterator[None]:
    del self, connection
    yield


def _commits_the_rows(self: Sqlite, connection: Connection, batch: Any) -> None:
    Sqlite.write_batch(self, connection, batch)
    connection.execute("COMMIT")
    connection.execute("BEGIN IMMEDIATE")


# How it keeps the ledger.


class _Cached(sqlite3.Connection):
    """Remembers what it has read and written."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.texts: dict[str, str | None] = {}


def _reads_once(self: Sqlite, connection: _Cached, key: str) -> str | None:
    if connection.texts.get(key) is None:
        connection.texts[key] = Sqlite.read_ledger(self, connection, key)
    return connection.texts[key]


def _writes_and_remembers(self: Sqlite, connection: _Cached, *entry: str) -> None:
    key, text = entry
    connection.texts[key] = text
    Sqlite.write_ledger(self, connection, key, text)


class _Sent(sqlite3.Connection):
    """Sends what is written when the transaction ends: only then it takes the lock."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.waiting: list[tuple[str, Any]] = []

    def executemany(self, statement: str, rows: Any, /) -> sqlite3.Cursor:
        self.waiting += [(statement, row) for row in rows]
        return self.cursor()


@contextmanager
def _locks_late(self: Sqlite, connection: _Sent) -> Iterator[None]:
    connection.waiting = []
    yield
    with Sqlite.transaction(self, connection):
        for statement, row in connection.waiting:
            connection.execute(statement, row)


def _sends_the_text(self: Sqlite, connection: _Sent, *entry: str) -> None:
    del self
    connection.executemany("INSERT OR REPLACE INTO holdfast_ledger VALUES (?, ?)", [entry])


class _ReplacesWhatItFinds(UserLedgerStore):
    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        found = self.read(new.stream)
        return super().replace(found if isinstance(found, LedgerRow) else old, new)


class _SeesNoObstacle(UserLedgerStore):
    def _find_obstacle(self, stream: str, output: Output) -> str | None:
        del stream, output
        return None


class _TellsNothing(UserLedgerStore):
    def _since(self, stream: str, generation: int) -> Since:
        del stream, generation
        return Since(unclear="nothing is known")


def _creates_for_this_connection(self: Sqlite, connection: Connection, df: Any) -> None:
    Sqlite.create(self, connection, df)
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS holdfast_ledger (key TEXT PRIMARY KEY, row TEXT)"
    )


def _of_the_table(self: Sqlite, key: str) -> str:
    return f"{'versions:' if key.startswith('versions:') else ''}{self.label}"


def _reads_of_any_stream(self: Sqlite, connection: Connection, key: str) -> str | None:
    return Sqlite.read_ledger(self, connection, _of_the_table(self, key))


def _writes_of_any_stream(self: Sqlite, connection: Connection, *entry: str) -> None:
    key, text = entry
    Sqlite.write_ledger(self, connection, _of_the_table(self, key), text)


# How it takes rows away, and gives them back.


def _keeps_nothing(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    Sqlite.take_rows(self, connection, copy, after=after)
    connection.execute(f'DELETE FROM "{copy}"')


def _leaves_the_rows(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    del after
    connection.execute(f'CREATE TABLE "{copy}" AS SELECT * FROM {self.table}')


def _puts_equal_rows_once(self: Sqlite, connection: Connection, copy: str) -> None:
    connection.execute(f'INSERT INTO {self.table} SELECT DISTINCT * FROM "{copy}"')


def _leaves_newer_rows(
    self: Sqlite, connection: Connection, copy: str, *, after: str | None
) -> None:
    if after is None:
        Sqlite.take_rows(self, connection, copy, after=None)
    else:
        connection.execute(f'CREATE TABLE "{copy}" AS SELECT * FROM {self.table} LIMIT 0')


def _commits_the_copy(
    self: Sqlite, connection: Connection, copy: str, *, after: str | None
) -> None:
    Sqlite.take_rows(self, connection, copy, after=after)
    connection.execute("COMMIT")
    connection.execute("BEGIN IMMEDIATE")


def _takes_all(self: Sqlite, connection: Connection, copy: str, *, after: str | None) -> None:
    del after
    Sqlite.take_rows(self, connection, copy, after=None)


def _always_changes(self: Sqlite, connection: Connection) -> str:
    return f"{Sqlite.version(self, connection)} {uuid.uuid4()}"


def _never_changes(self: Sqlite, connection: Connection) -> str:
    del self, connection
    return "0 0"


def _reads_rows_without_null(self: Sqlite, connection: Connection) -> list[tuple[Any, ...]]:
    return [row for row in Sqlite.read_back(self, connection) if None not in row]


def _written_by(writer: type[UserSinkWriter]) -> Any:
    def resolve_writer(self: Sqlite, df: Any, *, stream: str) -> UserSinkWriter:
        del stream
        return writer(self, df)

    return resolve_writer


def _ignoring(field: str) -> Any:
    return _written_by(type("Ignoring", (_LooksAtTheNumberOnly,), {"ignored": field}))


def _kept_by(ledger: type[UserLedgerStore]) -> Any:
    class Writer(UserSinkWriter):
        def __init__(self, sink: Any, df: Any) -> None:
            super().__init__(sink, df)
            self._ledger = ledger(sink)

    return _written_by(Writer)


CACHED: Bug = {
    "connection_class": _Cached,
    "read_ledger": _reads_once,
    "write_ledger": _writes_and_remembers,
}
BUGS: Mapping[str, Mapping[str, Bug]] = {
    "test_a_spec_is_a_value": {
        "two of the same values differ": {"__eq__": _is_same_object, "__hash__": object.__hash__},
        "its place has no name": {"place": property(lambda _: "")},
    },
    "test_resolving_twice_and_creating_twice_is_harmless": {
        "a start drops the table": {"create": _creates_the_table_anew},
        "the ledger's table must be there": {
            "exists": lambda _: True,
            "read_ledger": _expects_a_ledger,
        },
    },
    "test_batches_arrive_once": {
        "equal rows arrive once": {"write_batch": _writes_equal_rows_once},
        "the ledger row stays the first": {"write_ledger": _keeps_the_first_text},
    },
    "test_what_is_refused_writes_nothing": {
        "the rows are written before the answer": {
            "resolve_writer": _written_by(_WritesWhatIsRefused)
        },
        "every checkpoint may write": {"resolve_writer": _ignoring("binding")},
        "every generation may write": {"resolve_writer": _ignoring("generation")},
        "a batch may begin anywhere": {"resolve_writer": _ignoring("start_offsets")},
    },
    "test_rows_and_ledger_are_one_step": {
        "there is no transaction": {"transaction": _without_a_transaction},
        "the rows are committed first": {"write_batch": _commits_the_rows},
    },
    "test_a_fence_stops_the_driver_before_it": {
        "the ledger is read once per connection": CACHED,
    },
    "test_a_fence_during_a_batch_stops_it_or_comes_after_it": {
        "the lock is taken at the end": {
            "connection_class": _Sent,
            "transaction": _locks_late,
            "write_ledger": _sends_the_text,
        },
    },
    "test_a_row_is_replaced_only_when_it_is_the_expected_one": {
        "whatever is there is replaced": {"resolve_writer": _kept_by(_ReplacesWhatItFinds)},
        "the row of another driver is not seen": CACHED,
    },
    "test_the_ledger_can_be_read_without_a_query": {
        "the ledger is a temporary table": {
            "create": _creates_for_this_connection,
            "read_ledger": _expects_a_ledger,
        },
        "all streams have one row": {
            "read_ledger": _reads_of_any_stream,
            "write_ledger": _writes_of_any_stream,
        },
    },
    "test_an_undo_of_a_reset_gives_its_rows_back": {
        "a copy is empty": {"take_rows": _keeps_nothing},
        "rows stay": {"take_rows": _leaves_the_rows},
        "equal rows come back once": {"put_back": _puts_equal_rows_once},
    },
    "test_an_undo_takes_away_what_came_since": {
        "rows that came since stay": {"take_rows": _leaves_newer_rows},
        "it has versions, and no row is its own": {"resolve_writer": _kept_by(_TellsNothing)},
        "rows that cannot be told apart are taken": {
            "version": hf.Sink.version,
            "resolve_writer": _kept_by(_SeesNoObstacle),
        },
    },
    "test_what_cannot_be_settled_is_left_as_it_was": {
        "rows are taken in a commit of their own": {"take_rows": _commits_the_copy},
        "it cannot settle, and does not say so": {
            "take_rows": hf.Sink.take_rows,
            "put_back": hf.Sink.put_back,
            "resolve_writer": _kept_by(_SeesNoObstacle),
        },
    },
    "test_the_sink_goes_back_to_an_older_version": {
        "all rows are taken": {"take_rows": _takes_all},
    },
    "test_another_writer_is_noticed": {
        "versions do not change": {"version": _never_changes},
        "each look gives another version": {"version": _always_changes},
    },
    "test_the_rows_can_be_read_back": {
        "rows with NULL are not read": {"read_back": _reads_rows_without_null},
    },
}
"""For each clause, the bugs that it finds."""
