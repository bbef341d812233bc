"""A real PgBouncer that pools transactions, in front of the lab's PostgreSQL.

A client has a server's session for one transaction only; the next may run in another session, and
what one client sets in a session another finds there. What holds behind it needs no session.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import ClassVar

import psycopg

from lab.postgres import PASSWORD, Postgres
from lab.server import Server, free_ports
from lab.tools import find_tool

_ACCOUNT = "postgres"
_SETTINGS = """\
[databases]
* = host=127.0.0.1 port={upstream}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = 2
server_login_retry = 0.1
ignore_startup_parameters = extra_float_digits
"""


class PgBouncer(Server):
    """A pool of two sessions per database; `address` is a DSN of the database `postgres`."""

    name: ClassVar[str] = "pgbouncer"
    runs_as: ClassVar[str | None] = _ACCOUNT
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM  # at once, whatever clients are doing

    def __init__(self, postgres: Postgres, directory: Path | None = None) -> None:
        super().__init__(directory)
        self._postgres = postgres
        (self.port,) = free_ports(1)

    @property
    def address(self) -> str:
        """DSN of the database `postgres`, through the pool."""
        return self.dsn("postgres")

    def dsn(self, database: str) -> str:
        """Return the DSN of a database, through the pool."""
        return self._postgres.dsn(database, port=self.port)

    def through(self, dsn: str) -> str:
        """Return a DSN of the server behind as one through the pool."""
        return dsn.replace(f"port={self._postgres.port}", f"port={self.port}")

    def _prepare(self) -> None:
        users, settings = self.directory / "users", self.directory / "pgbouncer.ini"
        users.write_text(f'"postgres" "{PASSWORD}"\n')
        settings.write_text(
            _SETTINGS.format(upstream=self._postgres.port, port=self.port, users=users)
        )
        # A directory made for us alone is closed to the account the server runs as.
        self.directory.chmod(0o755)
        if os.geteuid() == 0:
            for each in (self.directory, users, settings):
                shutil.chown(each, _ACCOUNT)

    def _command(self) -> list[str]:
        return [find_tool("pgbouncer"), str(self.directory / "pgbouncer.ini")]

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.address, connect_timeout=2) as connection:
                return connection.execute("select 1").fetchone() == (1,)
        except psycopg.OperationalError:
            return False
