"""One scene: an unbroken run, then a kill at every point of it, each compared with the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeGuard

from campaigns.repair_kills.acting import (
    Way,
    count_points,
    finish,
    journal_of,
    kill_at,
    refresh,
    stop_at,
    way_to_finish,
)
from campaigns.repair_kills.scenes import Scene
from campaigns.repair_kills.tables import Rows
from campaigns.repair_kills.world import BUILT, State, World
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.errors import HoldfastError
from holdfast.ledger.output import EmptyOutput
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import SettleSink, Step

Kill = tuple[int, str]
"""A point, and whether it is `real`, `raised`, or `twice`."""
OWN = "_holdfast/"
APPLIED = "applied"
_BEFORE_A_STEP = "A5-before"
_NOT_BACK = ("generation", "rows")
"""Of a ledger row: no generation is taken back, and how many rows a batch had is forgotten."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the kills of one goal, or of its undo, have shown."""

    way: str
    points: int
    first_step: int = 1
    """The point before the first step. A plan that is continued does not come by those before it:
    it has its mark, and its sinks are fenced."""
    kills: int = 0
    real: int = 0
    twice: int = 0
    exact: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, when: str, differences: Iterable[str]) -> bool:
        """Add what differed; return whether nothing did."""
        found = [f"{when}: {each}" for each in differences]
        self.differences += found
        return not found

    def line(self, name: str) -> str:
        """Return it as a line of the table."""
        return (
            f"{name:38} {self.way:6} {self.points:6} {self.kills:6} {self.real:8} {self.twice:6} "
            f"{self.exact:6}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many of the kills there could be."""

    real: int
    """SIGKILLs per goal and direction."""
    twice: int = 4
    """Second kills per goal and direction."""
    everything: bool = False
    """Whether all are SIGKILLs, and all are followed by a second kill."""
    points: int | None = None
    """Per goal and direction, drawn by the seed; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killing:
    """Where scenes are played."""

    world: World
    stores: Stores
    scratch: Path
    chance: Random

    def run(self, scene: Scene, share: Share) -> Iterator[Tally]:
        """Play a scene, forwards and back; yield what each has shown."""
        self._prepare(scene)
        before = self.world.look()
        plan = scene.plan(self.world)
        points, journal = count_points(plan, Way.APPLY, self.stores)
        after = self.world.look()
        if scene.is_final:
            assert isinstance(plan_undo(journal, self.stores), NoPlan), scene.name
        forward = _tally("apply", points)
        for drawn in self._draw(len(points), share):
            self._prepare(scene)
            fresh = refresh(plan, self.stores)
            is_exact = self._one(fresh, drawn, forward, wanted=after)
            if is_exact and drawn[1] == "twice" and not scene.is_final:
                forward.add(f"undone after {drawn}", self._undone(fresh, before))
        yield forward
        if not scene.is_final:
            yield self._back(scene, plan, before=before, share=share)

    def _back(self, scene: Scene, plan: Plan, *, before: State, share: Share) -> Tally:
        """Undo the plan, unbroken and with kills."""
        undo = self._applied(scene, plan)
        self.world.keep(APPLIED)
        points, _ = count_points(undo, Way.APPLY, self.stores)
        undone = self.world.look()
        tally = _tally("undo", points)
        tally.add("undo", _not_given_back(before, undone, undo))
        for drawn in self._draw(len(points), share):
            self._put_back(APPLIED)
            self._one(refresh(undo, self.stores), drawn, tally, wanted=undone)
        return tally

    def _applied(self, scene: Scene, plan: Plan) -> Plan:
        """Apply the plan on a world put back; return the plan that undoes it."""
        self._prepare(scene)
        _, journal = count_points(refresh(plan, self.stores), Way.APPLY, self.stores)
        undo = plan_undo(journal, self.stores)
        assert isinstance(undo, Plan), f"{scene.name}: {undo}"
        return undo

    def _prepare(self, scene: Scene) -> None:
        self._put_back(BUILT)
        scene.damage(self.world)

    def _put_back(self, name: str) -> None:
        self.world.put_back(name)
        self.stores.forget_ledgers()

    def _draw(self, points: int, share: Share) -> list[Kill]:
        """Return the points, and how it is killed at each; some twice."""
        asked = points if share.points is None else min(share.points, points)
        every = sorted(self.chance.sample(range(1, points + 1), asked))
        drawn, again = every, every
        if not share.everything:
            drawn = self.chance.sample(every, min(share.real, asked))
            again = self.chance.sample(every, min(share.twice, asked))
        once = [(at, "real" if at in drawn else "raised") for at in every]
        return [*once, *((at, "twice") for at in again)]

    def _one(self, plan: Plan, drawn: Kill, tally: Tally, *, wanted: State) -> bool:
        """Kill at one point, finish, and compare; return whether it is exact."""
        point, kind = drawn
        # What was not reached before the first kill is reached after it, and one point at least.
        left = tally.points - max(point, tally.first_step) + 1
        second = self.chance.randint(1, left) if kind == "twice" else 0
        if kind == "real":
            assert kill_at(plan, Way.APPLY, point=point, scratch=self.scratch, stores=self.stores)
            tally.real += 1
        else:
            assert stop_at(plan, Way.APPLY, self.stores, point=point)
        tally.kills += kind != "twice"
        self.stores.forget_ledgers()
        said: Iterable[str] = ()
        if second:
            said = self._kill_again(plan, drawn, second)
            tally.twice += 1
        said = said or self._end(plan, wanted)
        is_exact = tally.add(f"killed at {point} ({kind} {second or ''})", said)
        tally.exact += is_exact
        return is_exact

    def _kill_again(self, plan: Plan, drawn: Kill, second: int) -> list[str]:
        """Kill what continues the plan; return why it could not go on to that point."""
        way = way_to_finish(plan, self.stores)
        try:
            assert stop_at(plan, way, self.stores, point=second), f"no second kill: {drawn}"
        except HoldfastError as error:
            return [_say(error)]
        finally:
            self.stores.forget_ledgers()
        return []

    def _end(self, plan: Plan, wanted: State) -> Iterator[str]:
        """Finish what was killed; yield how that differs, or why it could not be finished."""
        try:
            finish(plan, self.stores)
        except HoldfastError as error:
            self.stores.forget_ledgers()
            yield _say(error)
            return
        yield from wanted.differences(self.world.look())

    def _undone(self, plan: Plan, before: State) -> Iterator[str]:
        """Undo a plan that was killed and continued; yield what is not as before it."""
        undo = plan_undo(journal_of(plan), self.stores)
        if isinstance(undo, Plan):
            finish(undo, self.stores)
            yield from _not_given_back(before, self.world.look(), undo)
        else:
            yield f"no undo: {undo.reason}"


def _say(error: HoldfastError) -> str:
    return f"{error.code}: {error.what} {error.why}"


def _tally(way: str, points: Sequence[str]) -> Tally:
    begins = points.index(_BEFORE_A_STEP) + 1 if _BEFORE_A_STEP in points else len(points)
    return Tally(way=way, points=len(points), first_step=begins)


def _not_given_back(before: State, undone: State, undo: Plan) -> Iterator[str]:
    """Yield what undo has not given back: checkpoints and rows, not our own record.

    A stream that reads a Delta table to which rows come back is reset, and begins again.
    """
    begun = {step.stream: step.sink.label for step in undo.steps if _begins_again(step)}

    def bare(state: State) -> State:
        files = {path: raw for path, raw in state.files.items() if OWN not in path}
        kept = {path: raw for path, raw in files.items() if not _names(path) & begun.keys()}
        return State(files=kept, rows=dict(_without_generation(state.rows, begun)))

    return bare(before).differences(bare(undone))


def _begins_again(step: Step) -> TypeGuard[SettleSink]:
    return isinstance(step, SettleSink) and isinstance(step.output, EmptyOutput)


def _names(path: str) -> set[str]:
    """Return the directories of a path; that of a generation by its stream."""
    return {part.partition(".g")[0] for part in path.split("/")}


def _without_generation(
    rows: Rows, begun: Mapping[str, str]
) -> Iterator[tuple[str, Counter[tuple[Any, ...]]]]:
    """Yield the tables without copies, and what goes back of a ledger row."""
    for name, found in rows.items():
        if name.endswith(".ledger"):
            back = [row for row in found if dict(row).get("stream") not in begun]
            bare = (tuple(each for each in row if each[0] not in _NOT_BACK) for row in back)
            yield name, Counter(bare)
        elif ".kept_" not in name and name.rpartition(".")[2] not in begun.values():
            yield name, found
