"""A reader beside the writer: in no snapshot it ever takes is there a part of a batch."""

from __future__ import annotations

import functools
import threading
from typing import Self

import psycopg

from benchmarks.guard_workload import SNAPSHOT, Workload, batches_told

NAME = "holdfast-lab-reader"
PERIOD_S = 0.1


class Reader:
    """Polls the table and the ledger's history on a connection of its own; a context manager."""

    def __init__(self, work: Workload, *, dsn: str | None = None) -> None:
        """Watch a workload, also by way of a proxy."""
        self._work = work
        self._dsn = f"{dsn or work.dsn} application_name={NAME} connect_timeout=5"
        self._expected = functools.cache(work.shape.measure)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ended = threading.Event()
        self._polled = threading.Condition()
        self.polls = 0
        self.seen: set[int] = set()
        """After how many batches it saw the table."""
        self.torn: list[str] = []
        """What it saw that is not a sum of whole batches."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def wait_for_polls(self, number: int) -> None:
        """Wait until it has looked so many times more."""
        with self._polled:
            wanted = self.polls + number
            assert self._polled.wait_for(lambda: self.polls >= wanted, 60), "the reader is stuck"

    def told(self) -> str:
        """Say how often it looked and what it saw, in words."""
        return f"{self.polls} polls, {len(self.torn)} of them saw a part of a batch"

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                with psycopg.connect(self._dsn, prepare_threshold=None) as connection:
                    while not self._ended.wait(PERIOD_S):
                        self._poll(connection)
            except psycopg.OperationalError:  # the server is killed by the drill: look again
                self._ended.wait(PERIOD_S)

    def _poll(self, connection: psycopg.Connection) -> None:
        with connection.transaction():
            connection.execute(SNAPSHOT)
            found = connection.execute(self._work.shape.measure_query.encode()).fetchone()
            batches = batches_told(connection)
        expected = self._expected(batches)
        if found != expected:
            self.torn.append(f"after {batches} batches {found}, and not {expected}")
        with self._polled:
            self.seen.add(batches)
            self.polls += 1
            self._polled.notify_all()
