"""Databases that are written into while writers are killed, and clients that know nothing of us."""

from __future__ import annotations

import json
import sqlite3
import uuid
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.mariadb import MariaDB

Rows = list[tuple[Any, ...]]


class Database(ABC):
    """A database with a table `readings`."""

    @property
    @abstractmethod
    def url(self) -> str:
        """What `hf.Database` is given."""

    @abstractmethod
    def ask(self, *statements: str) -> list[Rows]:
        """Run statements in one transaction that sees one moment; return what each gives."""

    def rows(self) -> Rows:
        """Return what is in the table."""
        return self.ask("SELECT * FROM readings")[0]

    def rows_and_batches(self) -> tuple[Rows, int]:
        """Return what is in the table, and how many batches the ledger tells of, at one moment."""
        try:
            rows, told = self.ask("SELECT * FROM readings", "SELECT state FROM holdfast_ledger")
        except Exception as error:
            if "holdfast_ledger" not in str(error):  # before the first start has made it
                raise
            return self.rows(), 0
        return rows, int(json.loads(told[0][0])["last_batch"]) + 1 if told else 0


@dataclass(frozen=True)
class OnMariaDb(Database):
    """A database of a server."""

    server: MariaDB
    name: str
    options: str = ""

    @property
    def url(self) -> str:
        """Its URL, with its options."""
        return self.server.url(self.name) + self.options

    def ask(self, *statements: str) -> list[Rows]:
        """Run them in one snapshot."""
        with self.server.connect(self.name) as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            found = []
            for statement in statements:
                cursor.execute(statement)
                found.append(list(cursor.fetchall()))
            cursor.execute("COMMIT")
            return found


@dataclass(frozen=True)
class InFile(Database):
    """A file of SQLite."""

    path: Path

    @property
    def url(self) -> str:
        """Its path, as a URL."""
        return f"sqlite:///{self.path}"

    def ask(self, *statements: str) -> list[Rows]:
        """Run them in one transaction."""
        opened = sqlite3.connect(self.path, isolation_level=None, timeout=60)
        with closing(opened) as connection:
            connection.execute("BEGIN")
            found = [connection.execute(statement).fetchall() for statement in statements]
            connection.execute("COMMIT")
            return found


def make_database(kind: str, table: str, *, server: MariaDB | None, directory: Path) -> Database:
    """Return a new database with a table.

    Args:
        kind: `mariadb`, `load` (the same, by LOAD DATA) or `sqlite`.
        table: The columns of the table.
        server: Of MariaDB.
        directory: For a file.
    """
    if kind == "sqlite":
        path = directory / f"serving_{uuid.uuid4().hex[:8]}.db"
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"CREATE TABLE readings ({table})")
        return InFile(path)
    assert server is not None
    name = f"kills_{uuid.uuid4().hex[:8]}"
    server.create_database(name)
    server.ask(f"CREATE TABLE readings ({table})", database=name)
    return OnMariaDb(server, name, "?local_infile=1" if kind == "load" else "")
