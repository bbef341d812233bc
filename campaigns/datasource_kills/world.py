"""One stream through `format("holdfast")`, struck again and again, and a reader beside it.

Every file is one batch, so the table must hold the rows of exactly the files up to the ledger's
batch: in every look of a reader that asks both in one snapshot, and after every run.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from campaigns.datasource_kills.struck_source import DIRECTORY, FIRED, SECOND, STRIKE
from lab import Postgres
from lab.spark import OWN, Installation, environment

_PROJECT = Path(__file__).parents[2]
_PERIOD_S = 0.1
_TIME = 1_700_000_000
RUN_SECONDS = 300
ROWS = 8
STAGED = 90_000
"""Characters of a value with which a task stages its rows in a table; few keep them."""
KEPT = 10


@dataclass(kw_only=True)
class World:
    """The stream's files, its table and its record."""

    directory: Path
    dsn: str
    width: int = KEPT
    options: Mapping[str, Any] = field(default_factory=dict)
    installation: Installation = OWN
    client: Mapping[str, str] = field(default_factory=dict)
    """What a client of Spark Connect is told instead of where Spark is."""
    packages: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=lambda: {"spark.master": "local[2,4]"})
    files: list[list[tuple[int, str]]] = field(default_factory=list)
    runs: int = 0
    looks: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self) -> int:
        """Add a file; return the number of its batch."""
        number = len(self.files)
        first = number * ROWS // 2 if self.is_merging else number * ROWS
        rows = [
            (key, f"{key} of {number} {'x' * self.width}") for key in range(first, first + ROWS)
        ]
        path = self.directory / "in" / f"f{number:04}"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{value}\n" for _, value in rows))
        os.utime(path, (_TIME + number, _TIME + number))  # read in this order
        self.files.append(rows)
        return number

    @property
    def is_merging(self) -> bool:
        """Whether rows replace those of their key."""
        return bool(self.options.get("keys"))

    def expected(self, last: int) -> Counter[tuple[int, str]]:
        """Return what the table holds when it has the batches up to this one."""
        rows = [row for file in self.files[: last + 1] for row in file]
        return Counter(dict(rows).items() if self.is_merging else rows)

    def run(self, strike: str = "") -> int:
        """Run the program once, struck or to its end; return its exit code.

        Raises:
            AssertionError: The strike did not happen, or the table is not exact.
        """
        self.runs += 1
        fired, log = self.directory / FIRED, self.directory / f"{self.runs}.log"
        fired.unlink(missing_ok=True)
        (self.directory / SECOND).unlink(missing_ok=True)
        (self.directory / STRIKE).write_text(strike)
        where = [str(self.directory / "in"), str(self.directory / "root")]
        with log.open("w") as out:
            ended = subprocess.run(
                [
                    str(self.installation.python),
                    *("-m", "campaigns.datasource_kills.program", *where),
                    json.dumps(dict(self.options)),
                ],
                cwd=_PROJECT,
                env={**os.environ, **self.variables()},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                timeout=RUN_SECONDS,
                check=False,
            )
        assert fired.exists() == bool(strike), f"{strike} did not happen: {log.read_text()[-3000:]}"
        assert strike or ended.returncode == 0, log.read_text()[-5000:]
        self.look()
        assert not self.wrong, self.wrong
        return ended.returncode

    def variables(self) -> dict[str, str]:
        """Return what the environment tells the driver, and its workers through it."""
        spark = environment(
            self.directory / "spark",
            self.settings,
            log_level="error",
            installation=self.installation,
        )
        return {**(self.client or spark), **self.told()}

    def told(self) -> dict[str, str]:
        """Return what the environment tells every process of the stream."""
        return {
            "READINGS_DSN": self.dsn,
            "PYTHONPATH": os.pathsep.join([str(_PROJECT), str(_PROJECT / "src"), *self.packages]),
            DIRECTORY: str(self.directory),
        }

    def last(self) -> int:
        """Return the last batch that the ledger tells of; -1 without any."""
        with psycopg.connect(self.dsn) as connection:
            found = connection.execute("SELECT to_regclass('holdfast.ledger')").fetchone()
            if not found or not found[0]:
                return -1
            row = connection.execute("SELECT last_batch FROM holdfast.ledger").fetchone()
            return row[0] if row else -1

    def look(self) -> None:
        """Compare the table with the ledger, both of one moment."""
        with psycopg.connect(self.dsn) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            there = connection.execute("SELECT to_regclass('holdfast.ledger')").fetchone()
            held = Counter(connection.execute("SELECT id, value FROM readings").fetchall())
            if there and there[0]:
                row = connection.execute("SELECT last_batch FROM holdfast.ledger").fetchone()
            else:
                row = None
        self.looks += 1
        wanted = self.expected(row[0] if row else -1)
        if held != wanted:
            lost, more = (wanted - held).total(), (held - wanted).total()
            self.wrong.append(f"after batch {row}: {lost} rows lost, {more} duplicated")

    def stages(self) -> list[str]:
        """Return the staged tables that are there."""
        with psycopg.connect(self.dsn) as connection:
            found = connection.execute(
                "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                " WHERE nspname = 'holdfast_stage' AND relkind = 'r'"
            ).fetchall()
        return [name for (name,) in found]

    @contextmanager
    def reader(self) -> Iterator[None]:
        """Look again and again, beside the runs."""
        ended = threading.Event()

        def go_on() -> None:
            while not ended.wait(_PERIOD_S):
                self.look()

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def make_world(server: Postgres, directory: Path, name: str, **more: Any) -> World:
    """Return a stream with a database and a directory of its own."""
    home = directory / name
    home.mkdir(parents=True)
    dsn = server.create_database(f"datasource_{name}")
    world = World(directory=home, dsn=dsn, **more)
    key = ", PRIMARY KEY (id)" if world.is_merging else ""
    with psycopg.connect(dsn) as connection:
        connection.execute(f"CREATE TABLE readings (id bigint, value text{key})".encode())
    return world
