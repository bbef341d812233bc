"""A Spark driver as a child process that can be killed exactly where the drill says.

driver = Driver(program, environment={}, directory=directory)
driver.run_until_killed(Rename("after", "offsets/1"))     # raises when the kill did not fire
driver.run_to_end()                                       # raises when it did not end well
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

import msgspec

from holdfast.drills.errors import DriverFailedError, KillDidNotFireError
from holdfast.drills.kill.arming import arm
from holdfast.drills.kill.entries import entries_since
from holdfast.drills.kill.points import OutsidePoint, Point
from holdfast.drills.kill.waiting import wait_until

RUN_SECONDS = 240.0
_CHILD = Path(__file__).with_name("child.py")
_SUPERVISE = [sys.executable, "-SE", str(Path(__file__).with_name("supervise.py"))]


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a driver's run ended."""

    status: int
    """Exit code, or minus the number of the signal that ended it."""
    fired: str | None
    """The point that struck, if one did."""
    timed_out: bool
    """Whether the drill ended it because it took too long."""
    cpu_seconds: float
    """CPU time of the whole tree: Python, JVM, Python workers."""
    wall_seconds: float
    log: Path

    def describe(self) -> str:
        """Say it in words."""
        if self.timed_out:
            return f"SIGKILL from the drill, at the time limit, after {self.wall_seconds:.0f} s"
        if self.status >= 0:
            return f"exit code {self.status}"
        return f"signal {signal.Signals(-self.status).name}"


class Striker(Protocol):
    """Strikes a driver from outside, such as a proxy that sees its requests."""

    def arm(self, point: OutsidePoint, *, group: int, strike: int, fired: Path) -> None:
        """Strike this process group at the point, once, and write the point to `fired` first."""

    def disarm(self) -> None:
        """Strike nothing: the run that the point was for is over."""


@dataclass(kw_only=True, eq=False)
class Driver:
    """A program that is started again and again on the same checkpoint."""

    program: list[str] = field(kw_only=False)
    """Path of a Python file and its arguments."""
    environment: Mapping[str, str]
    """Added to this process's own; where Spark is, if that does not say it."""
    directory: Path
    """Takes logs and reports of the runs."""
    striker: Striker | None = None
    """What strikes it from outside; needed for an `OutsidePoint`."""
    seconds: float = RUN_SECONDS
    """How long one run may take; the drill stops it then."""
    checkpoints: Path | None = None
    """A directory on this machine with its checkpoints: their entries are points it reaches."""
    _runs: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Make the directory; nothing is started."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def start(self, point: Point | None = None, *, strike: int = signal.SIGKILL) -> Running:
        """Start a run that `point` strikes: SIGKILL ends it there, SIGSTOP halts it there.

        Args:
            point: Where; without one it is not struck.
            strike: The signal.
        """
        if self.striker is not None:
            self.striker.disarm()  # an earlier run may have ended before its point
        self._runs += 1
        base = self.directory / f"run-{self._runs:03d}"
        preloaded = self.environment.get("LD_PRELOAD", "")
        told = arm(point, strike=strike, base=base, preloaded=preloaded)
        running = Running(
            [sys.executable, str(_CHILD), *self.program],
            environment={**self.environment, **told},
            base=base,
            of=self,
            point=point,
        )
        if isinstance(point, OutsidePoint):
            assert self.striker is not None, f"{point} needs what strikes from outside"
            self.striker.arm(point, group=running.pid, strike=strike, fired=running.fired_file)
        return running

    def run_until_killed(self, point: Point) -> Ended:
        """Run until the point kills it.

        Raises:
            KillDidNotFireError: The driver ended in any other way.
        """
        ended = self.start(point).wait()
        struck = ended.fired == str(point) and ended.status == -signal.SIGKILL
        if not struck or ended.timed_out:
            raise KillDidNotFireError(str(point), status=ended.describe(), log=ended.log)
        return ended

    def run_to_end(self) -> Ended:
        """Run until the program ends by itself.

        Raises:
            DriverFailedError: It ended with an exit code other than 0, or by a signal, or took
                longer than it may.
        """
        ended = self.start().wait()
        if ended.status != 0:
            raise DriverFailedError(status=ended.describe(), log=ended.log)
        return ended


class Running:
    """One run of a driver, under way."""

    def __init__(
        self,
        command: list[str],
        *,
        environment: dict[str, str],
        base: Path,
        of: Driver,
        point: Point | None,
    ) -> None:
        self._of = of
        self._began = time.monotonic()
        self.log = base.with_suffix(".log")
        self.fired_file = base.with_suffix(".fired")
        self._reached_file = base.with_suffix(".reached")
        self._report = base.with_suffix(".json")
        self._point = point
        with self.log.open("wb") as log:
            self._supervisor = subprocess.Popen(
                [*_SUPERVISE, str(self._report), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**inherited(), **environment},
            )
        assert self._supervisor.stdout is not None
        self.pid = int(self._supervisor.stdout.readline())
        """Of the driver, which is also its process group."""

    def wait_until_halted(self) -> None:
        """Wait until the point has struck with SIGSTOP and the whole process group is suspended.

        Raises:
            KillDidNotFireError: The driver ended first, or the time was over.
        """
        if not wait_until(lambda: self.fired is not None or self._gone(), seconds=RUN_SECONDS):
            self.kill()
        if self.fired is None:
            ended = self.wait()
            raise KillDidNotFireError(str(self._point), status=ended.describe(), log=self.log)
        # The point is written before the signal is sent, and the signal takes a moment.
        if not wait_until(self._stands_still, seconds=RUN_SECONDS):
            raise KillDidNotFireError(str(self._point), status="going on", log=self.log)

    def _stands_still(self) -> bool:
        states = list(states_of_group(self.pid))
        return bool(states) and all(state == "T" for state in states)

    @property
    def fired(self) -> str | None:
        """The point that has struck so far, if one has."""
        if not self.fired_file.exists():
            return None
        return self.fired_file.read_text().strip() or None

    @property
    def reached(self) -> list[tuple[float, str]]:
        """What it has reached so far, each with its time on this machine's clock.

        Named points, facts (`batch=3`), and entries of its checkpoints (`entry=ids/offsets/3`).
        """
        lines: list[str] = []
        if self._reached_file.exists():
            lines = self._reached_file.read_text().rpartition("\n")[0].splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        named = [(float(at), point) for at, point in pairs]
        below = self._of.checkpoints
        entries = [] if below is None else list(entries_since(self._began, below=below))
        return sorted([*named, *entries], key=lambda each: each[0])

    def wait_for(self, point: str) -> float:
        """Wait until it has reached a named point; return when it first did.

        Raises:
            KillDidNotFireError: It ended first, or the time was over.
        """

        def times() -> list[float]:
            return [time for time, name in self.reached if name == point]

        wait_until(lambda: bool(times()) or self._gone(), seconds=RUN_SECONDS)
        if not times():
            self.kill()
            raise KillDidNotFireError(point, status=self.wait().describe(), log=self.log)
        return times()[0]

    def resume(self) -> None:
        """Let a driver that was struck with SIGSTOP go on."""
        os.killpg(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill the driver's whole process group with SIGKILL, wherever it is."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self, *, seconds: float | None = None) -> Ended:
        """Wait until the last process of the driver is gone; kill what is left after its time.

        Args:
            seconds: How long; by default as long as a run of this driver may take.
        """
        timed_out = False
        try:
            self._supervisor.wait(self._of.seconds if seconds is None else seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
            self.kill()
            self._supervisor.wait(RUN_SECONDS)
        if self._supervisor.stdout is not None:
            self._supervisor.stdout.close()
        report = json.loads(self._report.read_text())
        return Ended(fired=self.fired, log=self.log, timed_out=timed_out, **report)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing running, whatever happened."""
        if not self._gone():
            self.kill()
            self.wait()

    def _gone(self) -> bool:
        return self._supervisor.poll() is not None


def inherited() -> dict[str, str]:
    """Return the environment of this process, in which modules here are found too."""
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


def states_of_group(group: int) -> Iterator[str]:
    """Yield the state of every process of a group, as the kernel shows it: `T` stands still."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            _, _, fields = (process / "stat").read_text().rpartition(") ")
            state, _, its_group = fields.split()[:3]
            if int(its_group) == group:
                yield state
