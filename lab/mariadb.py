"""A real MariaDB from Debian's package, with its data in the lab's directory.

Durability is as shipped (innodb_flush_log_at_trx_commit=1): what a drill shows of a killed server
must hold for a user's server too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, ClassVar

import pymysql

from lab.server import STOP_SECONDS, Server, free_ports
from lab.tools import find_tool

PASSWORD = "loopback-only"  # noqa: S105 - guards nothing but a scratch server on 127.0.0.1
ACCOUNT = "mysql"
_SETUP = f"""\
FLUSH PRIVILEGES;
CREATE USER 'lab'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO 'lab'@'127.0.0.1' WITH GRANT OPTION;
CREATE DATABASE lab;
"""
"""One statement per line, as a server reads that is not up yet."""


class MariaDB(Server):
    """A MariaDB server; `address` is a URL of its database `lab`."""

    name: ClassVar[str] = "mariadb"
    runs_as: ClassVar[str | None] = ACCOUNT
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, directory: Path | None = None, *, port: int | None = None) -> None:
        super().__init__(directory)
        self.port = port or free_ports(1)[0]

    @property
    def address(self) -> str:
        """URL of the database `lab`."""
        return self.url("lab")

    def url(self, database: str, *, port: int | None = None) -> str:
        """Return the URL of a database, also by way of a proxy on another port."""
        return f"mariadb://lab:{PASSWORD}@127.0.0.1:{port or self.port}/{database}"

    def connect(self, database: str | None = None) -> Any:
        """Return a connection that commits each statement and knows nothing of Holdfast."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user="lab",
            password=PASSWORD,
            database=database,
            autocommit=True,
            connect_timeout=2,
        )

    def ask(self, statement: str, *, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement by a connection of its own, and return what it gives."""
        with self.connect(database) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def create_database(self, database: str) -> str:
        """Create an empty database and return its URL."""
        self.ask(f"CREATE DATABASE `{database}`")
        return self.url(database)

    def kill_sessions(self, database: str) -> int:
        """End every session of a database; return how many."""
        found = self.ask(
            f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"  # noqa: S608
        )
        for (session,) in found:
            self.ask(f"KILL {session}")
        return len(found)

    def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        # A directory made for us alone is closed to the account the server runs as.
        self.directory.chmod(0o755)
        data.mkdir()
        if os.geteuid() == 0:
            for each in (self.directory, data):
                shutil.chown(each, ACCOUNT)
        subprocess.run(
            [
                *(find_tool("mariadb-install-db"), "--no-defaults", f"--datadir={data}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
            ],
            check=True,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            user=self.runs_as if os.geteuid() == 0 else None,
        )
        subprocess.run(
            [find_tool("mariadbd"), *self._flags(), "--bootstrap"],
            check=True,
            cwd=self.directory,
            input=_SETUP.encode(),
            stderr=subprocess.DEVNULL,
            timeout=STOP_SECONDS,
            user=self.runs_as if os.geteuid() == 0 else None,
        )

    def _flags(self) -> list[str]:
        settings = {
            "datadir": str(self.directory / "data"),
            "bind-address": "127.0.0.1",
            "port": str(self.port),
            "socket": str(self.directory / "socket"),
            "pid-file": str(self.directory / "pid"),
            "tmpdir": str(self.directory),
            "skip-name-resolve": "ON",
            "local-infile": "ON",
        }
        return ["--no-defaults", *(f"--{name}={value}" for name, value in settings.items())]

    def _command(self) -> list[str]:
        return [find_tool("mariadbd"), *self._flags()]

    def _answers(self) -> bool:
        try:
            return self.ask("SELECT 1") == [(1,)]
        except pymysql.err.OperationalError:
            return False
