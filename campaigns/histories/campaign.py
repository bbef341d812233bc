"""Plays many histories, and keeps a short one for each hole that is found."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.histories.backend import Backend
from campaigns.histories.history import History
from campaigns.histories.machine import Machine
from campaigns.histories.memory_backend import MemoryBackend
from campaigns.histories.play import Played, play
from campaigns.histories.shrink import shrink, signature

MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory; without it, the temporary one


@dataclass
class Tally:
    """What a campaign has found."""

    played: int = 0
    operations: int = 0
    began: float = field(default_factory=time.monotonic)
    holes: dict[str, tuple[History, Played]] = field(default_factory=dict)
    """By signature, the first short history that shows it."""
    failed: int = 0

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self.began

    def __str__(self) -> str:
        each = self.played / self.seconds if self.seconds else 0
        return (
            f"{self.played:,} histories, {self.operations:,} operations, {self.failed} failed "
            f"({len(self.holes)} different), {self.seconds:.0f} s ({each:.1f}/s)"
        )


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a directory in memory, removed at the end."""
    where = MEMORY if MEMORY.is_dir() else None
    home = Path(tempfile.mkdtemp(prefix="holdfast-histories-", dir=where))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@dataclass
class Campaign:
    """Plays histories in one place."""

    home: Path
    backend: Backend = field(default_factory=MemoryBackend)
    shrinks: bool = True
    machine: type[Machine] = Machine
    tally: Tally = field(default_factory=Tally)

    def play(self, history: History) -> Played:
        """Play one history."""
        return play(history, self.backend, self.home, make_machine=self.machine)

    def add(self, history: History) -> str | None:
        """Play a history; return the signature of a hole that is new."""
        played = self.play(history)
        self.tally.played += 1
        self.tally.operations += len(history.ops)
        if not played.kind:
            return None
        self.tally.failed += 1
        short = history
        if self.shrinks:
            short = shrink(history, played.kind, self.play)
            played = self.play(short)
        found = signature(short, played)
        if found in self.tally.holes:
            return None
        self.tally.holes[found] = (short, played)
        return found

    def go(self, histories: Iterable[History]) -> Tally:
        """Play histories."""
        for each in histories:
            self.add(each)
        return self.tally
