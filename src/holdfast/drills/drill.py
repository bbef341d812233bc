"""Runs one drill: kills a driver phase by phase, and writes down everything that is seen."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from holdfast.drills.checks import JUDGE, READER, check_history
from holdfast.drills.history import Ended, History, Looked, Planned, Reached, Row, Started, now
from holdfast.drills.kill.driver import Driver, Running
from holdfast.drills.kill.driver import Ended as Left
from holdfast.drills.kill.points import Point
from holdfast.drills.log import last_error
from holdfast.drills.verdict import Checked, DrillVerdict, worst

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a sink must hold."""

    sink: str
    after: Sequence[Iterable[Row]]
    """After each number of parts of the source; the first is without any."""
    key: int | None = None
    sequence: int | None = None
    left_out: Sequence[str] = ()
    """Of a state: its stores that are not compared."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink holds."""

    sink: str
    parts: int | None
    rows: Iterable[Row]


Write = Callable[[Iterable[Seen]], None]
"""Writes down what was seen beside the drivers."""
Reading = Callable[[Write], AbstractContextManager[object]]
"""Reads sinks beside the drivers, for as long as it is open."""


class Sinks(Protocol):
    """What is judged: sinks whose right content is known."""

    @property
    def answers(self) -> Sequence[Answer]:
        """What each of the sinks must hold."""

    def look(self) -> Iterable[Seen]:
        """Read the sinks, as far as they can be read now."""


class Subject(Sinks, Protocol):
    """A stream that is drilled, with a place of its own."""

    @property
    def driver(self) -> Driver:
        """What is started again and again."""


class Drilled(msgspec.Struct, frozen=True, kw_only=True):
    """What a drill showed."""

    name: str
    directory: Path
    checked: Sequence[Checked]

    @property
    def verdict(self) -> DrillVerdict:
        """That of the worst check."""
        return worst(each.verdict for each in self.checked)


def run_drill(
    name: str,
    subject: Subject,
    kills: Sequence[Point],
    *,
    directory: Path,
    reading: Reading = lambda _: nullcontext(),
) -> Drilled:
    """Kill a stream at each point in turn, let it run to its end, and judge what was written down.

    Args:
        name: Of the drill.
        subject: The stream.
        kills: Where; each run recovers the last kill.
        directory: Takes the history.
        reading: Looks at the sinks meanwhile, and writes down what it sees.
    """
    recording = Recording(subject, directory)
    with reading(recording.write):
        for number, point in enumerate((*kills, None), start=1):
            what = "to the end" if point is None else f"killed at {point}"
            _LOG.info("%s: driver %d of %d, %s", name, number, len(kills) + 1, what)
            recording.run(subject.driver, point)
    return Drilled(name=name, directory=directory, checked=recording.check())


class Recording:
    """Writes a history: what sinks must hold, every run, and what is seen in the sinks."""

    def __init__(self, sinks: Sinks, directory: Path) -> None:
        """Begin the history in a directory of its own, with what the sinks must hold."""
        self._sinks = sinks
        self.history = History(directory)
        self.run_number = 0
        for answer in sinks.answers:
            self.history.append(_planned(self.history, answer))

    def run(self, driver: Driver, point: Point | None) -> Left:
        """Run a driver until a point kills it or, without one, to its end; then look."""
        self.start(point)
        running = driver.start(point)
        left = running.wait()
        self.end(running, left)
        return left

    def start(self, point: Point | None = None) -> None:
        """Write down that a run begins, which a point is to kill."""
        self.run_number += 1
        told = None if point is None else str(point)
        self.history.append(Started(at=now(), run=self.run_number, point=told))

    def end(self, running: Running, left: Left) -> None:
        """Write down how a driver's run ended, and what is in the sinks then."""
        for event in _events(running, left, run=self.run_number):
            self.history.append(event)
        self.look()

    def look(self) -> list[Looked]:
        """Write down what is in the sinks now, while nothing writes; return it."""
        return self._write_down(self._sinks.look(), by=JUDGE)

    def write(self, seen: Iterable[Seen]) -> None:
        """Write down what was seen beside a run; it belongs to the run that was under way."""
        self._write_down(seen, by=READER)

    def check(self) -> list[Checked]:
        """Judge what was written down so far."""
        return check_history(self.history)

    def _write_down(self, seen: Iterable[Seen], *, by: str) -> list[Looked]:
        looks = []
        run = self.run_number
        for each in seen:
            content = self.history.keep(each.rows)
            looked = Looked(
                at=now(), by=by, run=run, sink=each.sink, parts=each.parts, content=content
            )
            self.history.append(looked)
            looks.append(looked)
        return looks


def _planned(history: History, answer: Answer) -> Planned:
    contents = [history.keep(rows) for rows in answer.after]
    return Planned(
        at=now(),
        sink=answer.sink,
        contents=contents,
        key=answer.key,
        sequence=answer.sequence,
        left_out=list(answer.left_out),
    )


def _events(running: Running, left: Left, *, run: int) -> Iterator[Reached | Ended]:
    for at, point in running.reached:
        yield Reached(at=at, run=run, point=point)
    yield Ended(
        at=now(),
        run=run,
        how=left.describe(),
        fired=left.fired,
        is_killed=left.status == -signal.SIGKILL and not left.timed_out,
        is_well=left.status == 0,
        timed_out=left.timed_out,
        cpu_seconds=left.cpu_seconds,
        error="" if left.status == 0 or left.fired else last_error(left.log),
    )
