"""Delta's side of a commit, without Spark: a log in memory that takes commits as Delta does.

One whose version is not higher than the last of its application is left out, and nothing is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.formats.delta_log import newest_version, walk_back
from holdfast.sinks.delta.commit import Identity
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.target import Target
from holdfast.sinks.delta.writer import DeltaWriter
from holdfast.storage.memory import MemoryStorage
from tests import ledger_rows
from tests.stand_ins import stand_in

A, B = stand_in("a"), stand_in("b")
"""Two batches."""

ROW = replace(ledger_rows.ROW, sink="gold")
attempt = partial(ledger_rows.attempt, sink="gold")
NOTHING = "no rows"


@dataclass
class DeltaTable:
    """A table: its log, and what was committed to it."""

    log: MemoryStorage = field(default_factory=MemoryStorage)
    rows: list[Any] = field(default_factory=list)
    committed: list[Identity] = field(default_factory=list)
    how: list[str] = field(default_factory=list)
    """By which function each was asked for: append or merge."""
    table_id: str | None = None
    """What Delta says that the table's id is."""
    before: Callable[[], None] = lambda: None
    """Called before each commit; may raise."""
    after: Callable[[], None] = lambda: None

    def put(self, *lines: dict[str, Any]) -> int:
        """Write one commit and return its version."""
        newest = newest_version(self.log)
        version = 0 if newest is None else newest + 1
        raw = "\n".join(json.dumps(line) for line in lines).encode()
        self.log.put(f"_delta_log/{version:020}.json", raw)
        return version

    def commit(self, rows: Any, identity: Identity) -> None:
        """Commit rows as somebody, or leave them out."""
        self.before()
        if identity.version > self.last(identity.app):
            info = {"operation": "WRITE", "userMetadata": identity.note}
            txn = {"appId": identity.app, "version": identity.version}
            self.put({"commitInfo": info}, {"txn": txn})
            self.committed.append(identity)
            self.rows += [] if rows == NOTHING else [rows]
        self.after()

    def last(self, app: str) -> int:
        """Return the last version of an application."""
        newest = newest_version(self.log)
        commits = walk_back(self.log, newest) if newest is not None else ()
        return max((each.transactions.get(app, -1) for each in commits), default=-1)

    def sink(self, *, keys: tuple[str, ...] = ()) -> DeltaWriter:
        """Return a writer into it, as one more driver has it."""
        columns = ("id", "at")
        target = Target(name="delta.`/lake/gold`", reader=self.log, columns=columns)
        chosen = SimpleNamespace(select=lambda *names: {columns: NOTHING}[names])
        nothing = SimpleNamespace(limit=lambda rows: {0: chosen}[rows])
        tables = {"delta.`/lake/gold`": nothing}
        detail = SimpleNamespace(collect=lambda: [SimpleNamespace(id=self.table_id)])
        spark = SimpleNamespace(table=tables.__getitem__, sql=lambda _: detail)
        df = SimpleNamespace(sparkSession=spark)
        return DeltaWriter(
            Delta(path="/lake/gold", keys=keys), target, df=stand_in(df), stream="readings"
        )


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> DeltaTable:
    """A table with one commit of somebody else."""
    found = DeltaTable()
    found.put({"commitInfo": {"operation": "CREATE TABLE"}})

    def committing(how: str) -> Callable[[Any, Target, Identity], None]:
        def commit(rows: Any, target: Target, identity: Identity) -> None:
            assert target.reader is found.log
            found.how.append(how)
            found.commit(rows, identity)

        return commit

    for how in ("append", "merge"):
        monkeypatch.setattr(f"holdfast.sinks.delta.writer.{how}", committing(how))
    monkeypatch.setattr("holdfast.sinks.delta.commit.append", committing("append"))
    return found
