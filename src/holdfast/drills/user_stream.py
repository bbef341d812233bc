"""A drill of a user's own stream: does it end the same, however it was killed on the way?

Only the stream itself can say what its sink must hold, so it runs twice undisturbed first. When
those two runs agree, every run that was killed must agree with them.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import msgspec

from holdfast.drills.checks import KEPT
from holdfast.drills.copied import copy_checkpoint, go_on_from
from holdfast.drills.drill import Answer, Drilled, Seen, Write, run_drill
from holdfast.drills.errors import NotRepeatableError, TimeLimitError, UndisturbedRunError
from holdfast.drills.history import Row, now
from holdfast.drills.jvm import jvm_environment
from holdfast.drills.kill.driver import Driver, Running
from holdfast.drills.kill.points import Named, Point, Rename
from holdfast.drills.limits import SECONDS
from holdfast.drills.names import check_names
from holdfast.drills.phases import PHASES, STATE, Phase
from holdfast.drills.point_words import describe_last
from holdfast.drills.scratch import Scratch, kind_of_sample, read_rows
from holdfast.errors import ConfigError
from holdfast.proof.multiset import compare

NAME = "sink"
OFFERED = (*PHASES, *STATE)
LATEST = "commits-after"
"""Whatever the stream is, with enough batches it reaches this phase."""
PollingReader = Callable[[Path, Write], AbstractContextManager[object]]
"""Looks at the sink of a place while drivers run and die there, and writes down what it sees."""
_PROGRAM = Path(__file__).with_name("programs") / "user_stream.py"
_LOG = logging.getLogger(__name__)


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is drilled."""

    start: str
    """The function that starts the stream, given a session and a `Scratch`: `app:start`."""
    sample: Path | None = None
    """Files that stand for the source."""
    read: str | None = None
    """The function that returns what is in the sink, unless that is the scratch directory.

    Or, by their names, what is in several, or what several readers see.
    """
    checkpoint: str | None = None
    """Where a checkpoint is that every run begins from a copy of."""
    seconds: float = SECONDS
    """How long one driver may take, from its start to its end."""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What undisturbed runs left."""

    rows: Sequence[Row] = ()
    state: Sequence[Row] | None = None
    """The name of a store before each row; None where Spark cannot read it."""
    left_out: Sequence[str] = ()
    """Stores of it that are others every time."""


NOTHING = Expected()


@dataclass(frozen=True, kw_only=True)
class UserStream:
    """One place where a user's stream runs; a `Subject`."""

    of: Target
    home: Path
    expected: Expected

    def prepare(self) -> None:
        """Copy the checkpoint, if it begins from one."""
        if self.of.checkpoint is not None:
            copy_checkpoint(self.of.checkpoint, self.checkpoint)

    @property
    def checkpoint(self) -> Path:
        """That of an unguarded stream."""
        return Path(Scratch(home=self.home, sample=None).checkpoint)

    @cached_property
    def driver(self) -> Driver:
        """The stream's program, on the checkpoint and the sink of this place."""
        config = {
            "target": self.of.start,
            "sample": self.of.sample and str(self.of.sample),
            "read": self.of.read,
            "home": str(self.home),
            "rows": str(self._rows),
            "state": str(self._state),
        }
        return Driver(
            [str(_PROGRAM), json.dumps(config)],
            environment=jvm_environment(),
            directory=self.home / "runs",
            seconds=self.of.seconds,
            checkpoints=self.home,
        )

    @property
    def answers(self) -> Sequence[Answer]:
        """What undisturbed runs wrote and kept."""
        written, kept = self.expected.rows, self.expected.state
        answers = [Answer(sink=NAME, after=([], written))]
        if kept is not None:
            left_out = self.expected.left_out
            answers.append(Answer(sink=KEPT, after=([], kept), left_out=left_out))
        return answers

    def look(self) -> Iterator[Seen]:
        """Read what the last run kept: before it, what must be there is unknown."""
        if self._rows.exists():
            yield Seen(sink=NAME, parts=None, rows=self.rows())
        if (state := self.state()) is not None:
            yield Seen(sink=KEPT, parts=None, rows=state)

    def rows(self) -> list[Row]:
        """Return what was in the sink when the stream had read all."""
        return read_rows(self._rows)

    def state(self) -> list[Row] | None:
        """Return what the stream kept for later then; None where that cannot be read."""
        return read_rows(self._state) if self._state.exists() else None

    @property
    def _rows(self) -> Path:
        return self.home / "rows.jsonl"

    @property
    def _state(self) -> Path:
        return self.home / "state.jsonl"


def phases_of(
    running: Running, files: Iterable[Path], *, of: Sequence[Phase] = OFFERED
) -> tuple[Phase, ...]:
    """Return the phases that a stream reaches, from an undisturbed run and the files it left.

    A guarded stream reaches more of them, one that does not read files fewer.
    """
    points = {point for _, point in running.reached}
    paths = ["/".join(("", *path.parts[-3:])) for path in files]

    def is_reached(kill: Point) -> bool:
        if isinstance(kill, Named):
            return kill.name in points
        if not isinstance(kill, Rename):
            return False
        return sum(path.endswith(kill.target) for path in paths) >= kill.nth

    return tuple(phase for phase in of if all(map(is_reached, phase.kills)))


def drill_user_stream(
    target: Target,
    *,
    directory: Path,
    only: Sequence[str] = (),
    also: Sequence[Phase] = (),
    reader: PollingReader = lambda _, __: nullcontext(),
) -> Iterator[Drilled]:
    """Run a stream undisturbed, then kill it in every phase.

    Args:
        target: The stream.
        directory: Takes everything.
        only: Names of phases; by default every phase that it reaches.
        also: More phases, of this stream alone.
        reader: Reads the sink meanwhile.

    Yields:
        What each phase showed.

    Raises:
        ConfigError: There is no sample of a known kind, no function, no checkpoint, or no phase.
        UndisturbedRunError: It fails even when nothing kills it.
        TimeLimitError: It does not end within its time limit.
        NotRepeatableError: It writes other rows every time.
    """
    _check(target)
    first, second = (_place(target, directory / f"undisturbed-{each}") for each in (1, 2))
    numbered = go_on_from(first.checkpoint, OFFERED)
    running = _undisturbed(first, display_name="first undisturbed run")
    offered = (*phases_of(running, first.home.rglob("*"), of=numbered), *also)
    phases = _chosen(target, offered, only=only)
    _undisturbed(second, display_name="second undisturbed run")
    expected = agree(first, second)
    for phase in phases:
        place = _place(target, directory / phase.name, expected)
        reading = partial(reader, place.home)
        yield run_drill(phase.name, place, phase.kills, directory=place.home, reading=reading)


def _check(target: Target) -> None:
    """Find out what can be known before anything is started."""
    if target.sample is not None:
        kind_of_sample(target.sample)
    check_names([each for each in (target.start, target.read) if each is not None])


def _place(target: Target, home: Path, expected: Expected = NOTHING) -> UserStream:
    place = UserStream(of=target, home=home, expected=expected)
    place.prepare()
    return place


def _chosen(target: Target, offered: Sequence[Phase], *, only: Sequence[str]) -> list[Phase]:
    """Return the phases to run, in the order of a run."""
    names = [phase.name for phase in offered]
    if LATEST not in names:
        raise ConfigError(f"{target.start} ran too few batches; a drill also kills a later one.")
    if unknown := [name for name in only if name not in names]:
        never = f"Phase {', '.join(unknown)} is never reached."
        raise ConfigError(f"{never} Reachable phases: {', '.join(names)}.")
    return [phase for phase in offered if not only or phase.name in only]


def _undisturbed(place: UserStream, *, display_name: str) -> Running:
    _LOG.info("%s: %s", place.of.start, display_name)
    running = place.driver.start()
    ended = running.wait()
    if ended.timed_out:
        raise TimeLimitError(
            place.of.start,
            run=display_name,
            seconds=place.of.seconds,
            last=describe_last(running.reached, log=ended.log, at=now()),
            log=ended.log,
        )
    if ended.status != 0:
        raise UndisturbedRunError(place.of.start, log=ended.log)
    return running


def agree(first: UserStream, second: UserStream) -> Expected:
    """Return what both undisturbed runs have written, and what both have kept.

    Raises:
        NotRepeatableError: They have not written the same rows.
    """
    rows, state, other = first.rows(), first.state(), second.state()
    found = compare(rows, second.rows())
    if not found.exact:
        more = found.duplicated + found.foreign
        raise NotRepeatableError(first.of.start, only_first=found.missing, only_second=more)
    if state is None or other is None:
        return Expected(rows=rows)
    return Expected(rows=rows, state=state, left_out=_differing(state, other))


def _differing(state: Sequence[Row], other: Sequence[Row]) -> list[str]:
    """Return the names of stores that two runs keep other rows in."""
    first, second = Counter(state), Counter(other)
    return sorted({row[0] for row in (first - second) | (second - first)})
