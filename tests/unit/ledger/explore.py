"""Every step that a driver can take in the model, and the search through all that can happen."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.ledger import Apply, Decision, Refuse
from tests.unit.ledger.hands import Step, reset, rewind, settle, store, tamper
from tests.unit.ledger.model import (
    EVENTS,
    Decide,
    Driver,
    World,
    apply,
    is_right,
    next_batches,
)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to."""

    states: int
    wrong: str | None
    """What is wrong and by which steps; None when nothing is."""


def explore(world: World, decide: Decide, *, most: int = 5_000_000) -> Found:
    """Look at every state that can be reached, breadth first, until something is wrong."""
    came_from: dict[World, tuple[World, str] | None] = {world: None}
    waiting = deque([world])
    finished: dict[World, bool] = {}
    while waiting:
        here = waiting.popleft()
        if not here.tampered and not can_finish(here, decide, finished):
            return Found(len(came_from), "stuck:\n" + _trail(came_from, here))
        for name, there in steps(here, decide):
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


def steps(world: World, decide: Decide) -> Iterator[Step]:
    """Give every step that somebody can take now."""
    for number, driver in enumerate(world.drivers):
        if driver is None:
            yield from _start(world, number)
            continue
        for name, there in drive(world, number, decide):
            yield f"driver {driver.epoch}: {name}", there
        if world.budget.crashes:
            budget = world.budget._replace(crashes=world.budget.crashes - 1)
            yield (
                f"driver {driver.epoch} is killed",
                _put(world._replace(budget=budget), number, None),
            )
    yield from reset(world)
    yield from rewind(world)
    if world.budget.tampering:
        yield from tamper(world)


def _put(world: World, number: int, driver: Driver | None) -> World:
    """Change a driver; which of two is called the first makes no difference, so they are sorted."""
    drivers = [*world.drivers[:number], driver, *world.drivers[number + 1 :]]
    drivers.sort(key=repr)
    return world._replace(drivers=tuple(drivers))


def _start(world: World, number: int) -> Iterator[Step]:
    if world.budget.starts:
        budget = world.budget._replace(starts=world.budget.starts - 1)
        driver = Driver("G2", generation=world.generation, location=world.location)
        yield "a driver: G1", _put(world._replace(budget=budget), number, driver)


def drive(world: World, number: int, decide: Decide) -> Iterator[Step]:
    """Give the next step of a driver, in each way it can go."""
    driver = world.drivers[number]
    assert driver is not None
    match driver.step:
        case "G2":
            there = world._replace(epochs=world.epochs + 1)
            yield "G2", _put(there, number, driver._replace(step="G5", epoch=there.epochs))
        case "G5":
            yield "G5", _fence(world, number, driver)
        case "plan":
            yield from _plan(world, number, driver)
        case "sink":
            yield from _write(world, number, decide(world.sink.row, driver))
        case _:
            yield f"commits/{driver.batch}", _commit(world, number, driver)


def _fence(world: World, number: int, driver: Driver) -> World:
    row = world.sink.row
    bound = (world.checkpoints[driver.location].query, driver.location)
    if row is None or row.epoch >= driver.epoch or (row.query, row.location) != bound:
        return _put(world, number, None)
    sink = world.sink._replace(row=row._replace(epoch=driver.epoch))
    there = world._replace(sink=sink, fenced=max(world.fenced, driver.epoch))
    return _put(there, number, driver._replace(step="plan"))


def _plan(world: World, number: int, driver: Driver) -> Iterator[Step]:
    checkpoint = world.checkpoints[driver.location]
    entries = checkpoint.entries
    known = driver._replace(
        query=checkpoint.query, source=checkpoint.source, trades=checkpoint.trades, step="sink"
    )
    if driver.batch < 0 and len(entries) > checkpoint.commits:
        batch = len(entries) - 1
        yield (
            f"runs batch {batch} again",
            _put(world, number, known._replace(batch=batch, planned=entries[batch])),
        )
        return
    batch = len(entries) if driver.batch < 0 else driver.batch + 1
    if batch != len(entries):
        yield "finds that another driver has planned", _put(world, number, None)
        return
    for planned in next_batches(entries):
        there = store(world, driver.location, checkpoint._replace(entries=(*entries, planned)))
        yield (
            f"offsets/{batch} {planned.content()}",
            _put(there, number, known._replace(batch=batch, planned=planned)),
        )


def _write(world: World, number: int, decision: Decision) -> Iterator[Step]:
    driver = world.drivers[number]
    assert driver is not None
    if isinstance(decision, Refuse):
        yield f"batch {driver.batch} refused: {decision.reason.name}", _put(world, number, None)
        return
    done = _put(world, number, driver._replace(step="commit"))
    if not isinstance(decision, Apply):
        yield f"batch {driver.batch} skipped", done
        return
    sink = apply(world.sink, driver)
    if driver.epoch < world.fenced:
        yield f"WRONG: driver {driver.epoch} writes batch {driver.batch} after it was fenced", world
    if driver.generation != world.settled:
        yield f"WRONG: driver {driver.epoch} writes for generation {driver.generation}", world
    if not is_right(sink.content):
        yield f"WRONG: batch {driver.batch} makes the output {sink.content}", world
    yield f"batch {driver.batch} applied", done._replace(sink=sink)
    if world.budget.lost_answers:
        # The driver reads the ledger again and decides again: the same step once more.
        budget = world.budget._replace(lost_answers=world.budget.lost_answers - 1)
        yield (
            f"batch {driver.batch} applied, the answer is lost",
            world._replace(sink=sink, budget=budget),
        )


def _commit(world: World, number: int, driver: Driver) -> World:
    checkpoint = world.checkpoints[driver.location]
    if checkpoint.commits != driver.batch or len(checkpoint.entries) <= driver.batch:
        return _put(world, number, None)
    there = store(world, driver.location, checkpoint._replace(commits=driver.batch + 1))
    return _put(there, number, driver._replace(step="plan"))


def can_finish(world: World, decide: Decide, known: dict[World, bool]) -> bool:
    """Return whether starting the query again, and nothing else, brings everything over."""
    if world.resetting:
        world = settle(world)
    calm = world._replace(
        drivers=(Driver("G2", world.generation, world.location),),
        budget=world.budget._replace(starts=0, crashes=0, lost_answers=0, resets=0, rewinds=0),
        epochs=0 if world.sink.row is None else world.sink.row.epoch,
        fenced=0,
    )
    if calm not in known:
        known[calm] = _finishes(calm, decide)
    return known[calm]


def _finishes(world: World, decide: Decide) -> bool:
    while world.drivers[0] is not None:
        following = list(drive(world, 0, decide))
        if not following:
            break
        world = following[0][1]
    return world.sink.content == EVENTS
