"""A reader beside a writer: in nothing it ever sees is there a part of a batch."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Self


class Reader(ABC):
    """Looks again and again, in a thread of its own; a context manager."""

    def __init__(self, *, period_s: float) -> None:
        """Begin when it is entered."""
        self._period_s = period_s
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ended = threading.Event()
        self._polled = threading.Condition()
        self.polls = 0
        self.seen: set[int] = set()
        """After how many batches, or files, it saw a table."""
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
        while not self._ended.wait(self._period_s):
            self._look()
            with self._polled:
                self.polls += 1
                self._polled.notify_all()

    @abstractmethod
    def _look(self) -> None:
        """Take one snapshot of everything, and keep what it shows in `seen` and `torn`."""
