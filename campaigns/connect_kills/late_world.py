"""A stream from Kafka into PostgreSQL on Spark Connect, whose checkpoint another driver writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import psycopg

import holdfast as hf
from campaigns.connect_kills.late_client import STREAM
from campaigns.connect_kills.world import WAIT_SECONDS, Started
from holdfast.checkpoint.text import canonical
from holdfast.drills.kill.waiting import wait_until
from lab import Kafka, Postgres
from lab.connect import ConnectServer, python_path, start_client
from lab.spark import environment

_IDLE = "spark.sql.streaming.noDataProgressEventInterval"
"""So that Spark's progress is mostly of a trigger without a batch, as on a quiet stream."""
_CLIENT = Path(__file__).with_name("late_client.py")


class LateWorld:
    """The topic, the table and the clients of one stream; servers are started by who uses it."""

    def __init__(self, kafka: Kafka, postgres: Postgres, home: Path, *, root: str) -> None:
        home.mkdir(parents=True)
        self.home, self.root = home, root
        self.settings: Mapping[str, str] = {}
        self.store: Mapping[str, str] = {}
        """How the processes that are Holdfast's own reach the root: variables."""
        self._broker, self._kafka = kafka.address, kafka
        self.topic = f"late-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(self.topic, partitions=1)
        self.dsn = postgres.create_database(f"late_{uuid.uuid4().hex[:8]}")
        self.produced = self._clients = 0
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute('create table readings ("offset" bigint, value text)')

    @property
    def record(self) -> Path:
        """Where the record is; of a root on this disk."""
        return Path(self.root) / "_holdfast" / STREAM

    def server(self, name: str, **variables: str) -> ConnectServer:
        """Return a server, not started."""
        given = {**self._variables, **variables}
        settings = {**self.settings, _IDLE: "200"}
        return ConnectServer(self.home / name, variables=given, settings=settings)

    def produce(self, count: int) -> None:
        """Send records, each with its number."""
        numbers = range(self.produced, self.produced + count)
        self._kafka.produce(self.topic, ((0, None, b"r%d" % each, 1_000) for each in numbers))
        self.produced += count

    def client(self, server: ConnectServer, *options: str) -> Started:
        """Start a client of the stream."""
        given = ["start", server.address, self.root, self._broker, self.topic, *options]
        self._clients += 1
        log = self.home / f"client-{self._clients}.log"
        with log.open("wb") as file:
            process = start_client(_CLIENT, *given, variables=self._variables, log=file)
        return Started(process, log)

    def prove(self) -> str:
        """Return what a classic session says of the table."""
        classic = environment(self.home / "classic", self.settings, log_level="error")
        given = ["prove", self.root, self._broker, self.topic]
        ended = subprocess.run(
            [sys.executable, str(_CLIENT), *given],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **classic, **self._variables, "PYTHONPATH": python_path()},
        )
        told = [line for line in ended.stdout.splitlines() if line.startswith("PROVED ")]
        assert told, ended.stdout + ended.stderr[-3000:]
        return told[0].removeprefix("PROVED ")

    def put_right(self) -> None:
        """Plan and apply what puts the checkpoint right, as HF605 says."""
        plan = self.home / "plan.json"
        self._command("plan", "resume", STREAM, "--root", self.root, "-o", str(plan))
        allowed = [word for need in hf.read_plan(plan).needs for word in ("--allow", need.word)]
        self._command("apply", str(plan), "--execute", *allowed)

    def _command(self, *words: str) -> None:
        ended = subprocess.run(
            [sys.executable, "-m", "holdfast", *words],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **self._variables, "PYTHONPATH": python_path()},
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr

    def rows(self) -> Counter[tuple[int, str]]:
        """Return what the table holds now."""
        with psycopg.connect(self.dsn) as connection:
            return Counter(connection.execute('select "offset", value from readings').fetchall())

    def expected(self, count: int) -> Counter[tuple[int, str]]:
        """Return the first records, each once."""
        return Counter((each, f"r{each}") for each in range(count))

    def wait_for(self, count: int) -> None:
        """Wait until the table has the first records."""
        wanted = self.expected(count)
        assert wait_until(lambda: self.rows() == wanted, seconds=WAIT_SECONDS), self.rows()

    def ledger_end(self) -> int:
        """Return where the ledger says that the last batch ended."""
        with psycopg.connect(self.dsn) as connection:
            row = connection.execute("select end_offsets from holdfast.ledger").fetchone()
        assert row is not None
        return int(json.loads(row[0])["0"][self.topic]["0"])

    def with_end(self, entry: bytes, end: int) -> bytes:
        """Return an entry of `offsets`, with another end."""
        head, last = entry.rstrip(b"\n").rsplit(b"\n", 1)
        known = json.loads(last)
        assert list(known) == [self.topic], known
        return head + b"\n" + canonical({self.topic: {"0": end}}).encode()

    @property
    def _variables(self) -> dict[str, str]:
        return {"DSN": self.dsn, **self.store}
