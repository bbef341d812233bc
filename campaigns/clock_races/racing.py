"""A racer as its parent has it: a process with a clock of its own, and what it told so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import msgspec

from campaigns.clock_races import racer
from campaigns.clock_races.racer import ENDED, GIVEN_UP, HALTS, READY, TAKEN, WAITING, Race
from holdfast.drills.kill.driver import states_of_group
from holdfast.drills.kill.waiting import wait_until
from lab.faults.clock import MovedClock

SECONDS = 120.0
NEAR_S = 60.0
"""What two looks at the time of day may differ by, on a machine with much to do."""


class WriterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened in a race."""

    what: str
    at: float
    wall: float
    true: float = 0.0
    """The time of day when it was heard of."""
    epoch: int = 0
    last_batch: int = -1
    how: str = ""


class Racer:
    """A process that runs races; a context manager."""

    def __init__(self, dsn: str, directory: Path, *, lease_clock: str) -> None:
        """Start it, with a clock of its own."""
        self.clock = MovedClock(directory)
        self.told: list[WriterOptions] = []
        """What happened in this race."""
        self._news = threading.Condition()
        self._log = (directory / "log").open("wb")
        command = [sys.executable, racer.__file__, dsn, "--lease-clock", lease_clock]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **self.clock.environment},
            process_group=0,
        )
        self._thread = threading.Thread(target=self._hear, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait_for(READY)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            assert stream is not None
            stream.close()

    def begin(
        self, race: Race, *, halts_at: str | None = None, waits_at: str | None = None
    ) -> None:
        """Have it run a race."""
        its = msgspec.structs.replace(race, halts_at=halts_at, waits_at=waits_at)
        self._send(msgspec.json.encode(its))

    def go_on(self) -> None:
        """Let its batch go on, which waits at a point."""
        self._send(b"")

    def wait_until_halted(self) -> None:
        """Wait until the whole process stands still."""
        self.wait_for(HALTS)
        still = lambda: set(states_of_group(self._process.pid)) == {"T"}  # noqa: E731 - two words
        assert wait_until(still, seconds=SECONDS), "it goes on"

    def resume(self) -> None:
        """Let the process go on."""
        os.kill(self._process.pid, signal.SIGCONT)

    def wait_for(self, what: str) -> None:
        """Wait until it has told something in this race."""
        with self._news:
            came = self._news.wait_for(lambda: self._count(what) > 0, SECONDS)
        assert came, f"no {what!r} came, but {self.told}"

    def goes_on_waiting(self, polls: int) -> bool:
        """Wait until it has looked so often more at another's lease; False when it has taken it."""
        with self._news:
            wanted = self._count(WAITING) + polls
            came = self._news.wait_for(
                lambda: self._count(WAITING) >= wanted or self._count(TAKEN) > 0, SECONDS
            )
            assert came, f"it does not look any more: {self.told}"
            return self._count(TAKEN) == 0

    def has_told(self, what: str) -> bool:
        """Return whether it has told something in this race."""
        with self._news:
            return self._count(what) > 0

    def last(self) -> WriterOptions:
        """Return what it told last."""
        with self._news:
            return self.told[-1]

    def held(self) -> tuple[float, float]:
        """Return from when to when it had the lease."""
        with self._news:
            times = {each.what: each.at for each in self.told}
        return times[TAKEN], times[GIVEN_UP]

    def is_moved_by(self, seconds: int) -> bool:
        """Return whether its clock was wrong by that at the end of the race."""
        last = self.last()
        assert last.what == ENDED
        return abs(last.wall - last.true - seconds) < NEAR_S

    def forget(self) -> None:
        """Begin anew: the race is over."""
        with self._news:
            self.told = []

    def _count(self, what: str) -> int:
        return sum(each.what == what for each in self.told)

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = msgspec.json.decode(line, type=WriterOptions)
            with self._news:
                self.told.append(msgspec.structs.replace(told, true=time.time()))
                self._news.notify_all()
