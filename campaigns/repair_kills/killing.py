"""One scene: an unbroken run, then a kill at every point of it, each compared with the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from campaigns.repair_kills.acting import (
    Way,
    count_points,
    finish,
    kill_at,
    refresh,
    stop_at,
    way_to_finish,
)
from campaigns.repair_kills.scenes import Scene
from campaigns.repair_kills.world import Rows, State, World
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.plan.plan_file import Plan

Kill = tuple[int, str]
"""A point, and whether it is `real`, `raised`, or `twice`."""
OWN = "_holdfast/"
_NOT_BACK = ("generation", "rows")
"""Of a ledger row: no generation is taken back, and how many rows a batch had is forgotten."""
TWICE = 4
"""Second kills per goal and direction, unless all were asked for."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the kills of one goal, or of its undo, have shown."""

    way: str
    points: int
    kills: int = 0
    real: int = 0
    twice: int = 0
    exact: int = 0
    differences: list[str] = field(default_factory=list)

    def line(self, name: str) -> str:
        """Return it as a line of the table."""
        return (
            f"{name:36} {self.way:6} {self.points:6} {self.kills:6} {self.real:8} {self.twice:6} "
            f"{self.exact:6}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Killing:
    """Where scenes are played."""

    world: World
    stores: Stores
    scratch: Path
    chance: Random

    def run(self, scene: Scene, *, real: int, everything: bool) -> Iterator[Tally]:
        """Play a scene, forwards and back; yield what each has shown."""
        self._prepare(scene)
        before = self.world.look()
        plan = scene.plan(self.world)
        points, _ = count_points(plan, Way.APPLY, self.stores)
        after = self.world.look()
        forward = Tally(way="apply", points=len(points))
        for drawn in self._draw(len(points), real=real, everything=everything):
            self._prepare(scene)
            self._one(refresh(plan, self.stores), drawn, forward, wanted=after)
        yield forward
        yield self._back(scene, plan, before, real=real, everything=everything)

    def _back(
        self, scene: Scene, plan: Plan, before: State, *, real: int, everything: bool
    ) -> Tally:
        """Undo the plan, unbroken and with kills."""
        undo = self._applied(scene, plan)
        points, _ = count_points(undo, Way.APPLY, self.stores)
        undone = self.world.look()
        tally = Tally(way="undo", points=len(points))
        tally.differences += [f"undo: {each}" for each in _not_given_back(before, undone)]
        for drawn in self._draw(len(points), real=real, everything=everything):
            self._applied(scene, plan)
            self._one(undo, drawn, tally, wanted=undone)
        return tally

    def _applied(self, scene: Scene, plan: Plan) -> Plan:
        """Apply the plan on a world put back; return the plan that undoes it."""
        self._prepare(scene)
        _, journal = count_points(refresh(plan, self.stores), Way.APPLY, self.stores)
        undo = plan_undo(journal, self.stores)
        assert isinstance(undo, Plan), f"{scene.name}: {undo}"
        return undo

    def _prepare(self, scene: Scene) -> None:
        self.world.put_back()
        self.stores.forget_ledgers()
        scene.damage(self.world)

    def _draw(self, points: int, *, real: int, everything: bool) -> list[Kill]:
        """Return every point, and how it is killed there; some twice."""
        every = range(1, points + 1)
        drawn = set(every) if everything else set(self.chance.sample(every, min(real, points)))
        again = every if everything else self.chance.sample(every, min(TWICE, points))
        once = [(at, "real" if at in drawn else "raised") for at in every]
        return [*once, *((at, "twice") for at in again)]

    def _one(self, plan: Plan, drawn: Kill, tally: Tally, *, wanted: State) -> None:
        """Kill at one point, finish, and compare."""
        point, kind = drawn
        second = self.chance.randrange(1, tally.points) if kind == "twice" else 0
        if kind == "real":
            assert kill_at(plan, Way.APPLY, point=point, scratch=self.scratch)
            tally.real += 1
        else:
            assert stop_at(plan, Way.APPLY, self.stores, point=point)
        tally.kills += kind != "twice"
        self.stores.forget_ledgers()
        if second:
            way = way_to_finish(plan, self.stores)
            tally.twice += stop_at(plan, way, self.stores, point=second)
        finish(plan, self.stores)
        shown = f"killed at {point} ({kind} {second or ''})"
        found = [f"{shown}: {each}" for each in wanted.differences(self.world.look())]
        tally.differences += found
        tally.exact += not found


def _not_given_back(before: State, undone: State) -> Iterator[str]:
    """Yield what undo has not given back: checkpoints and rows, not our own record."""

    def bare(state: State) -> State:
        files = {path: raw for path, raw in state.files.items() if OWN not in path}
        return State(files=files, rows=dict(_without_generation(state.rows)))

    return bare(before).differences(bare(undone))


def _without_generation(rows: Rows) -> Iterator[tuple[str, Counter[tuple[Any, ...]]]]:
    """Yield the tables without copies, and what goes back of a ledger row."""
    for name, found in rows.items():
        if name == "holdfast.ledger":
            bare = (tuple(each for each in row if each[0] not in _NOT_BACK) for row in found)
            yield name, Counter(bare)
        elif ".kept_" not in name:
            yield name, found
