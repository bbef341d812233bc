"""A reader beside the writer: in no snapshot it ever takes is there a part of a batch."""

from __future__ import annotations

import functools

import psycopg

from benchmarks.guard_workload import SNAPSHOT, Workload, batches_told
from benchmarks.reader import Reader

NAME = "holdfast-lab-reader"
PERIOD_S = 0.1


class PostgresReader(Reader):
    """Polls the table and the ledger's history on a connection of its own."""

    _connection: psycopg.Connection

    def __init__(self, work: Workload, *, dsn: str | None = None) -> None:
        """Watch a workload, also by way of a proxy."""
        super().__init__(period_s=PERIOD_S)
        self._work = work
        self._dsn = f"{dsn or work.dsn} application_name={NAME} connect_timeout=5"
        self._expected = functools.cache(work.shape.measure)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                with psycopg.connect(self._dsn, prepare_threshold=None) as self._connection:
                    super()._run()
            except psycopg.OperationalError:  # the server is killed by the drill: look again
                self._ended.wait(PERIOD_S)

    def _look(self) -> None:
        with self._connection.transaction():
            self._connection.execute(SNAPSHOT)
            query = self._work.shape.measure_query
            found = self._connection.execute(query.encode()).fetchone()
            batches = batches_told(self._connection)
        expected = self._expected(batches)
        if found != expected:
            self.torn.append(f"after {batches} batches {found}, and not {expected}")
        self.seen.add(batches)
