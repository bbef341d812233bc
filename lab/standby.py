"""A real hot standby of the lab's PostgreSQL: a copy that replays its changes, and can be promoted.

Its primary waits for no answer of it, as by default. So what the standby had not received when it
was cut off is missing in it for good.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

import psycopg

from holdfast.drills.kill.waiting import wait_until
from lab.postgres import ACCOUNT, Postgres
from lab.server import STOP_SECONDS
from lab.tools import find_tool


class Standby(Postgres):
    """A standby of one server, with the same databases and passwords."""

    name: ClassVar[str] = "standby"

    def __init__(self, primary: Postgres, directory: Path | None = None) -> None:
        super().__init__(directory)
        self._primary = primary

    def cut_off(self) -> None:
        """Let it receive nothing more from its primary; what it has received is replayed."""
        for statement in ("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"):
            with psycopg.connect(self.address, autocommit=True) as connection:
                connection.execute(statement.encode())
        assert wait_until(lambda: not self._asks("FROM pg_stat_wal_receiver"), seconds=STOP_SECONDS)

    def promote(self) -> None:
        """Make it a primary; return when it takes changes."""
        assert self._asks("WHERE pg_promote()")

    def _asks(self, rest: str) -> bool:
        with psycopg.connect(self.address, autocommit=True) as connection:
            return connection.execute(f"SELECT 1 {rest}".encode()).fetchone() is not None

    def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        self.directory.chmod(0o755)
        if os.geteuid() == 0:
            shutil.chown(self.directory, ACCOUNT)
        copy = [find_tool("pg_basebackup"), "-D", str(data), "-d", self._primary.address]
        subprocess.run(
            [*copy, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"],
            check=True,
            cwd=self.directory,
            user=self.runs_as if os.geteuid() == 0 else None,
        )
