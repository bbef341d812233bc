"""Databases that a test opens are closed after it: a connection that is dropped is an error."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from tests.kinds.sqlite_sink import Sqlite


@pytest.fixture(autouse=True)
def _close_databases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    opened: list[sqlite3.Connection] = []
    connect = Sqlite.connect

    def connect_and_remember(sink: Sqlite) -> sqlite3.Connection:
        opened.append(connect(sink))
        return opened[-1]

    monkeypatch.setattr(Sqlite, "connect", connect_and_remember)
    yield
    for each in opened:
        each.close()
