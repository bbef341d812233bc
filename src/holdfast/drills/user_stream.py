"""A drill of a user's own stream: does it end the same, however it was killed on the way?

What it must hold nobody can know but the stream itself: it runs twice undisturbed first. When those
two agree, every run that was killed must agree with them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from holdfast.drills.checks import KEPT
from holdfast.drills.copied import copy_checkpoint, go_on_from
from holdfast.drills.drill import Answer, Drilled, Seen, Write, run_drill
from holdfast.drills.history import Row
from holdfast.drills.kill.driver import Driver, Running
from holdfast.drills.kill.points import Named, Point, Rename
from holdfast.drills.log import excerpt
from holdfast.drills.names import check_names
from holdfast.drills.phases import PHASES, STATE, Phase
from holdfast.drills.scratch import Scratch, kind_of_sample, read_rows
from holdfast.errors import ConfigError, HoldfastError
from holdfast.proof.multiset import compare

NAME = "sink"
OFFERED = (*PHASES, *STATE)
LATEST = "commits-after"
"""Whatever the stream is, with enough batches it comes by this."""
PollingReader = Callable[[Path, Write], AbstractContextManager[object]]
"""Looks at the sink of a place while drivers run and die there, and writes down what it sees."""
_PROGRAM = Path(__file__).with_name("programs") / "user_stream.py"


class NotRepeatableError(HoldfastError):
    """Two undisturbed runs of a stream differ: nothing can be compared with them."""

    code = "DRILL_NOT_REPEATABLE"

    def __init__(self, target: str, *, only_first: int, only_second: int) -> None:
        super().__init__(
            what=f"Two undisturbed runs of {target} do not write the same rows.",
            why=f"{only_first:,} rows are only in the first, {only_second:,} only in the second.",
            how="Give a read= that leaves out what differs every time, such as the current time.",
        )


class UndisturbedRunError(HoldfastError):
    """A stream does not run to its end even when nobody kills it."""

    code = "DRILL_UNDISTURBED_RUN_FAILED"

    def __init__(self, target: str, *, log: Path) -> None:
        super().__init__(
            what=f"{target} does not run to its end, without any kill.",
            why=f"From its log:\n{excerpt(log)}",
            how="Fix the error above, then run the drill again.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
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
            [str(_PROGRAM), json.dumps(config)], environment={}, directory=self.home / "runs"
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
        """Read what the last run kept: before, nobody can say what must be there."""
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
    """Return those phases that a stream comes by, from an undisturbed run and what that left.

    A guarded stream comes by more, one that does not read files by fewer.
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
) -> Iterator[Phase | Drilled]:
    """Run a stream undisturbed, then kill it in every phase.

    Args:
        target: The stream.
        directory: Takes everything.
        only: Names of phases; by default every phase that it comes by.
        also: More phases, of this stream alone.
        reader: Reads the sink meanwhile.

    Yields:
        Each phase as it begins, then what it showed.

    Raises:
        ConfigError: There is no sample of a known kind, no function, no checkpoint, or no phase.
        UndisturbedRunError: It does not run even when nobody kills it.
        NotRepeatableError: It writes other rows every time.
    """
    _check(target)
    first, second = (_place(target, directory / f"undisturbed-{each}") for each in (1, 2))
    numbered = go_on_from(first.checkpoint, OFFERED)
    running = _undisturbed(first)
    offered = (*phases_of(running, first.home.rglob("*"), of=numbered), *also)
    phases = _chosen(target, offered, only=only)
    _undisturbed(second)
    expected = agree(first, second)
    for phase in phases:
        yield phase
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
    """Return the phases that are meant, in the order of a life."""
    names = [phase.name for phase in offered]
    if LATEST not in names:
        raise ConfigError(f"{target.start} has too few batches to be killed in a later one.")
    if unknown := [name for name in only if name not in names]:
        never = f"Phase {', '.join(unknown)} is never reached."
        raise ConfigError(f"{never} Reachable phases: {', '.join(names)}.")
    return [phase for phase in offered if not only or phase.name in only]


def _undisturbed(place: UserStream) -> Running:
    running = place.driver.start()
    ended = running.wait()
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
        more = found.doubled + found.foreign
        raise NotRepeatableError(first.of.start, only_first=found.missing, only_second=more)
    if state is None or other is None:
        return Expected(rows=rows)
    return Expected(rows=rows, state=state, left_out=_differing(state, other))


def _differing(state: Sequence[Row], other: Sequence[Row]) -> list[str]:
    """Return the names of stores that two runs keep other rows in."""
    first, second = Counter(state), Counter(other)
    return sorted({row[0] for row in (first - second) | (second - first)})
