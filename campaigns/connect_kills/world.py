"""What a guarded stream on Spark Connect reads and writes, and how its table is judged."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import psycopg

from campaigns.connect_kills.client import APPENDED, COUNTS, LAKE, LAKE_COUNTS, RACED, RACES
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.drills.kill.waiting import wait_until
from holdfast.drills.polling_reader import polling_reader
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from lab import Postgres
from lab.connect import ConnectServer, start_client
from lab.spark import OWN, Installation

ROWS = 50
"""Of a file, which is a batch."""
KEYS = 7
WAIT_SECONDS = 300.0
_CLIENT = Path(__file__).with_name("client.py")
_TABLES = {
    APPENDED: "create table appended (id bigint, k text)",
    COUNTS: "create table counts (k text primary key, n bigint, total bigint)",
}
ADDED_EPOCH = 1_700_000_000


class Started:
    """A client that was started."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log
        self._races = 0

    def said(self) -> str:
        """Return what it has written."""
        return self.log.read_text(errors="replace")

    def wait_until_started(self) -> None:
        """Wait until its stream runs."""
        assert wait_until(self._has_started, seconds=WAIT_SECONDS), self.said()

    def go(self, options: str = "") -> None:
        """Have a client that races start its stream once more."""
        assert self.process.stdin is not None
        self._races += 1
        self.process.stdin.write(f"{options}\n".encode())
        self.process.stdin.flush()

    def raced(self) -> str:
        """Wait until its last race has ended, and return how."""
        assert wait_until(lambda: len(self._told()) >= self._races, seconds=WAIT_SECONDS), (
            self.said()
        )
        return self._told()[-1]

    def _told(self) -> list[str]:
        lines = [each.split() for each in self.said().splitlines()]
        return [words[1] for words in lines if words[:1] == [RACED]]

    def wait(self) -> int:
        """Wait until it has ended."""
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait()

    def _has_started(self) -> bool:
        assert self.process.poll() is None or "STARTED" in self.said(), self.said()
        return "STARTED" in self.said()


class World:
    """One stream of one shape: its input, its table, its server and its clients."""

    def __init__(  # noqa: PLR0913 - what a server has and lacks, each by name
        self,
        postgres: Postgres,
        directory: Path,
        shape: str,
        *,
        has_executors: bool = False,
        has_holdfast: bool = True,
        server_dsn: str | None = None,
        installation: Installation = OWN,
    ) -> None:
        self.shape = shape
        self.home = directory
        (directory / "in").mkdir(parents=True)
        self.dsn = postgres.create_database(f"connect_{os.urandom(4).hex()}")
        self._lakes = {
            each: DeltaTable(open_reader(parse_location(str(directory / each))))
            for each in (LAKE, LAKE_COUNTS)
        }
        if shape in _TABLES:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute(_TABLES[shape])
        self.server = ConnectServer(
            variables={"DSN": server_dsn or self.dsn},
            has_executors=has_executors,
            has_holdfast=has_holdfast,
            installation=installation,
        )
        self._installation = installation
        self.files = self.clients = self.looks = 0
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.server)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def another_server(self) -> ConnectServer:
        """Return a server beside this one, not started."""
        return ConnectServer(variables=self._variables, installation=self._installation)

    def add(self, files: int = 1) -> None:
        """Add files, each of which will be a batch."""
        for _ in range(files):
            rows = (self._row(self.files * ROWS + each) for each in range(ROWS))
            draft = self.home / f"{self.files}.draft"
            draft.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            os.utime(draft, (ADDED_EPOCH + self.files,) * 2)  # their order
            draft.rename(self.home / "in" / f"{self.files}.json")
            self.files += 1

    def client(self, *options: str, address: str = "") -> Started:
        """Start a client of the stream, on this server or at another address."""
        self.clients += 1
        log = self.home / f"client-{self.clients}.log"
        with log.open("wb") as file:
            given = [address or self.server.address, str(self.home), self.shape, *options]
            process = start_client(
                _CLIENT,
                *given,
                variables=self._variables,
                log=file,
                installation=self._installation,
                stdin=subprocess.PIPE if RACES in options else subprocess.DEVNULL,
            )
            return Started(process, log)

    def versions_run(self) -> set[str]:
        """Return the versions of Spark in the records of all its starts."""
        runs = (self.home / "streams").rglob("runs/*.json")
        return {json.loads(run.read_text())["spark"] for run in runs}

    def rows(self) -> Counter[tuple[Any, ...]]:
        """Return what a reader sees now, in one look."""
        if self.shape in (LAKE, LAKE_COUNTS):
            return Counter(self._lakes[self.shape].read().rows)
        with psycopg.connect(self.dsn) as connection:
            return Counter(connection.execute(f"select * from {self.shape}").fetchall())  # noqa: S608

    def expected(self, files: int) -> Counter[tuple[Any, ...]]:
        """Return what a reader must see after so many batches."""
        rows = [self._row(each) for each in range(files * ROWS)]
        if self.shape not in (COUNTS, LAKE_COUNTS):
            return Counter((row["id"], row["k"]) for row in rows)
        found: dict[str, list[int]] = {}
        for row in rows:
            found.setdefault(row["k"], []).append(row["id"])
        return Counter((key, len(ids), sum(ids)) for key, ids in found.items())

    def judge(self) -> None:
        """Compare the table with all that was added.

        Raises:
            AssertionError: Rows are lost, doubled or others.
        """
        assert self.rows() == self.expected(self.files), f"{self.shape}: {self.home}"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at the table again and again meanwhile: each look must be at whole batches.

        Raises:
            AssertionError: One was not.
        """
        wrong: list[str] = []

        def look() -> list[Any]:
            seen, self.looks = self.rows(), self.looks + 1
            if not any(seen == self.expected(files) for files in range(self.files + 1)):
                wrong.append(f"{sum(seen.values())} rows")
            return []

        with polling_reader(look, lambda _: None):
            yield
        assert not wrong, wrong

    @property
    def _variables(self) -> dict[str, str]:
        return {"DSN": self.dsn}

    @staticmethod
    def _row(number: int) -> dict[str, Any]:
        return {"id": number, "k": f"k{number % KEYS}"}
