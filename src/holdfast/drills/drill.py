"""Runs one drill: kills a driver phase by phase, and writes down everything that is seen."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from holdfast.drills.checks import JUDGE, READER, check_history
from holdfast.drills.history import Ended, History, Looked, Planned, Reached, Row, Started, now
from holdfast.drills.kill.driver import Driver, Running
from holdfast.drills.kill.driver import Ended as Left
from holdfast.drills.kill.points import Point
from holdfast.drills.log import last_error
from holdfast.drills.verdict import Checked, Verdict, worst


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a sink holds."""

    sink: str
    parts: int | None
    rows: Iterable[Row]


Write = Callable[[Iterable[Seen]], None]
"""Writes down what was seen beside the drivers."""
Reading = Callable[[Write], AbstractContextManager[object]]
"""Reads sinks beside the drivers, for as long as it is open."""


class Subject(Protocol):
    """A stream that is drilled, with a place of its own."""

    @property
    def driver(self) -> Driver:
        """What is started again and again."""

    @property
    def answers(self) -> Sequence[Answer]:
        """What each of its sinks must hold."""

    def look(self) -> Iterator[Seen]:
        """Read its sinks, as far as they can be read now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drilled:
    """What a drill showed."""

    name: str
    directory: Path
    checked: Sequence[Checked]

    @property
    def verdict(self) -> Verdict:
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
    history = History(directory)
    for answer in subject.answers:
        history.append(_planned(history, answer))
    run = 0

    def write_beside(seen: Iterable[Seen]) -> None:
        """A look belongs to the run that was under way, or just over, when it began."""
        _write_down(history, seen, by=READER, run=run)

    with reading(write_beside):
        for run, point in enumerate([*kills, None], start=1):
            _run(subject, history, run=run, point=point)
    return Drilled(name=name, directory=directory, checked=check_history(history))


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


def _run(subject: Subject, history: History, *, run: int, point: Point | None) -> None:
    history.append(Started(at=now(), run=run, point=None if point is None else str(point)))
    running = subject.driver.start(point)
    left = running.wait()
    for event in _events(running, left, run=run):
        history.append(event)
    _write_down(history, subject.look(), by=JUDGE, run=run)


def _write_down(history: History, seen: Iterable[Seen], *, by: str, run: int) -> None:
    """Write down what was seen in sinks."""
    for each in seen:
        content = history.keep(each.rows)
        history.append(
            Looked(at=now(), by=by, run=run, sink=each.sink, parts=each.parts, content=content)
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
        cpu_seconds=left.cpu_seconds,
        error="" if left.status == 0 or left.fired else last_error(left.log),
    )
