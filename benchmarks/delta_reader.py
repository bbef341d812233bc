"""A reader beside a writer of Delta tables: in no snapshot it takes is there a part of a batch."""

from __future__ import annotations

import threading
from typing import Self

from benchmarks.delta_workload import Workload, files_told
from holdfast.errors import HoldfastError

PERIOD_S = 0.2


class Reader:
    """Polls the tables, log and files, without Spark; a context manager."""

    def __init__(self, work: Workload) -> None:
        """Watch a workload."""
        self._work = work
        self._tables = [work.open(table) for table in work.tables]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ended = threading.Event()
        self._polled = threading.Condition()
        self.polls = 0
        self.seen: set[int] = set()
        """After how many files it saw a table."""
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
        while not self._ended.wait(PERIOD_S):
            self._poll()

    def _poll(self) -> None:
        for table in self._tables:
            try:
                snapshot = table.read()
            except (HoldfastError, AssertionError) as error:
                self.torn.append(str(error))
                continue
            torn = self._work.torn(snapshot)
            self.torn += [] if torn is None else [torn]
            self.seen.add(files_told(snapshot))
        with self._polled:
            self.polls += 1
            self._polled.notify_all()
