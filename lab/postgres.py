"""A real PostgreSQL 15 from Debian's package, with its data in the lab's directory.

Durability is as shipped (fsync on, synchronous commit): what a drill shows of a killed server must
hold for a user's server too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

import psycopg
from psycopg import sql

from holdfast.drills.kill.waiting import wait_until
from lab.server import START_SECONDS, STOP_SECONDS, Server, free_ports
from lab.tools import find_tool

PASSWORD = "loopback-only"  # noqa: S105 - guards nothing but a scratch server on 127.0.0.1
ACCOUNT = "postgres"


class Postgres(Server):
    """A PostgreSQL server; `address` is a DSN of its database `postgres`."""

    name: ClassVar[str] = "postgres"
    runs_as: ClassVar[str | None] = ACCOUNT
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # SIGTERM would wait for every client

    def __init__(self, directory: Path | None = None, *, port: int | None = None) -> None:
        super().__init__(directory)
        self.port = port or free_ports(1)[0]

    @property
    def address(self) -> str:
        """DSN of the database `postgres`."""
        return self.dsn("postgres")

    def dsn(self, database: str, *, port: int | None = None) -> str:
        """Return the DSN of a database, also by way of a proxy on another port."""
        return (
            f"host=127.0.0.1 port={port or self.port} dbname={database} "
            f"user=postgres password={PASSWORD} sslmode=disable"
        )

    def jdbc_url(self, database: str, *, port: int | None = None) -> str:
        """Return the same for Spark's JDBC writer."""
        server = f"127.0.0.1:{port or self.port}"
        return f"jdbc:postgresql://{server}/{database}?user=postgres&password={PASSWORD}"

    def create_database(self, database: str) -> str:
        """Create an empty database and return its DSN."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(database)))
        return self.dsn(database)

    def kill_session(self, database: str, *, spared: str) -> None:
        """Kill a database's sessions with SIGKILL; return when the server is up again.

        PostgreSQL takes a killed session for a sign of damaged memory: it ends all the others and
        recovers, with its first process alive.

        Args:
            database: Whose sessions.
            spared: The application name of those that are not killed.
        """
        with psycopg.connect(self.address, autocommit=True) as connection:
            found = connection.execute(
                "select pid from pg_stat_activity where datname = %s and application_name <> %s",
                (database, spared),
            ).fetchall()
            for (pid,) in found:
                os.kill(pid, signal.SIGKILL)
            # Our own connection ends when the server has noticed; until then it is the old one.
            assert found, f"nobody is connected to {database}"
            assert wait_until(lambda: _is_broken(connection), seconds=STOP_SECONDS)
        assert wait_until(self._answers, seconds=START_SECONDS)

    def stop_immediately(self) -> None:
        """End it as `pg_ctl stop -m immediate` does: everything is cut off, nothing is flushed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(STOP_SECONDS)

    def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        password = self.directory / "password"
        password.write_text(PASSWORD)
        # A directory made for us alone is closed to the account the server runs as.
        self.directory.chmod(0o755)
        if os.geteuid() == 0:
            for each in (self.directory, password):
                shutil.chown(each, ACCOUNT)
        options = ["--username=postgres", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        options += ["--auth=scram-sha-256", f"--pwfile={password}"]
        subprocess.run(
            [find_tool("initdb"), "-D", str(data), *options],
            check=True,
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            user=self.runs_as if os.geteuid() == 0 else None,
        )

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "100",
        }
        flags = [f"--{name}={value}" for name, value in settings.items()]
        return [find_tool("postgres"), "-D", str(self.directory / "data"), *flags]

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self.address, connect_timeout=2) as connection:
                return connection.execute("select 1").fetchone() == (1,)
        except psycopg.OperationalError:
            return False


def _is_broken(connection: psycopg.Connection) -> bool:
    try:
        connection.execute("select 1")
    except psycopg.OperationalError:
        return True
    return False
