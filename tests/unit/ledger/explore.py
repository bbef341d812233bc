"""The search through all that can happen in the model, and whether a stream can still finish."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from tests.unit.ledger.closings import ALL, Closings, Rules
from tests.unit.ledger.driving import drive, prepare, put
from tests.unit.ledger.hands import Step, reset, rewind, settle, tamper
from tests.unit.ledger.model import EVENTS, Budget, Decide, Forged, World
from tests.unit.ledger.strangers import change_table, forge, relabel

NOTHING_MORE = Budget(starts=0, crashes=0, lost_answers=0, resets=0, rewinds=0, tampering=0)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    states: int
    wrong: str | None
    """What is wrong and by which steps; None when nothing is."""


def explore(
    world: World, decide: Decide, *, closings: Closings = ALL, most: int = 5_000_000
) -> Found:
    """Look at every state that can be reached, breadth first, until something is wrong."""
    rules = Rules(decide, closings)
    came_from: dict[World, tuple[World, str] | None] = {world: None}
    waiting = deque([world])
    finished: dict[World, str | None] = {}
    while waiting:
        here = waiting.popleft()
        obstacle = None if here.tampered else find_obstacle(here, finished, rules)
        if obstacle is not None:
            return Found(len(came_from), f"{obstacle}:\n" + _trail(came_from, here))
        for name, there in steps(here, rules):
            if "WRONG" in name:
                return Found(len(came_from), f"{name}\n" + _trail(came_from, here))
            if there not in came_from:
                came_from[there] = (here, name)
                waiting.append(there)
                if len(came_from) > most:
                    return Found(len(came_from), f"more than {most:,} states")
    return Found(len(came_from), None)


def _trail(came_from: dict[World, tuple[World, str] | None], world: World) -> str:
    names = []
    while (before := came_from[world]) is not None:
        world, name = before
        names.append(name)
    return "\n".join(reversed(names))


def steps(world: World, rules: Rules) -> Iterator[Step]:
    """Give every step that somebody can take now."""
    for number, driver in enumerate(world.drivers):
        if driver is None:
            yield from _start(world, number, rules.closings)
            continue
        for name, there in drive(world, number, rules):
            yield f"driver {driver.epoch}: {name}", there
        if world.budget.crashes:
            budget = world.budget._replace(crashes=world.budget.crashes - 1)
            yield (
                f"driver {driver.epoch} is killed",
                put(world._replace(budget=budget), number, None),
            )
    yield from reset(world)
    yield from rewind(world)
    if world.budget.tampering:
        yield from tamper(world)
    yield from change_table(world)
    yield from forge(world)
    yield from relabel(world)


def _start(world: World, number: int, closings: Closings) -> Iterator[Step]:
    if world.budget.starts:
        budget = world.budget._replace(starts=world.budget.starts - 1)
        yield prepare(world._replace(budget=budget), number, closings)


def find_obstacle(world: World, known: dict[World, str | None], rules: Rules) -> str | None:
    """Say why starting the query again, and nothing else, does not bring everything over.

    What was forged in the record is moved aside first: that is the documented repair.
    """
    if world.reset_advice:
        world = settle(world)
    rows = (world.sink.row, world.sink.added)
    calm = world._replace(
        drivers=(None,),
        budget=NOTHING_MORE,
        epochs=max((row.epoch for row in rows if row is not None), default=0),
        fenced=0,
        forged=Forged(),
    )
    if calm not in known:
        known[calm] = _finish(calm, rules)
    return known[calm]


def _finish(world: World, rules: Rules) -> str | None:
    """Start once, and go on until the driver stops; None if the output is complete then."""
    _, world = prepare(world, 0, rules.closings)
    while world.drivers[0] is not None:
        following = list(drive(world, 0, rules))
        if not following:
            break
        name, world = following[0]
        if "WRONG" in name:
            return name
    return None if world.sink.content == EVENTS else "stuck"
