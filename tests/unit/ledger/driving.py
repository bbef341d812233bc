"""Every step that a driver can take in the model."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.ledger import Apply, Refuse
from tests.unit.ledger.closings import Closings, Rules, examine, is_confined, look, next_epoch, pin
from tests.unit.ledger.hands import Step, store
from tests.unit.ledger.model import (
    Driver,
    Row,
    Sink,
    World,
    apply,
    fresh_row,
    is_right,
    next_batches,
    put_row,
    row_for,
)


def put(world: World, number: int, driver: Driver | None) -> World:
    """Change a driver; which of two is called the first makes no difference, so they are sorted."""
    drivers = [*world.drivers[:number], driver, *world.drivers[number + 1 :]]
    drivers.sort(key=lambda each: each or ())
    return world._replace(drivers=tuple(drivers))


def prepare(world: World, number: int, closings: Closings) -> Step:
    """Resolve the generation and the table (G1). Delta creates a table that is not there."""
    forged, sink = world.forged, world.sink
    generation, location = world.generation, world.location
    if forged.generation:
        if closings.confines_generation and not is_confined(forged.generation, forged.checkpoint):
            return "a start refuses the generation", put(world, number, None)
        generation, location = forged.generation, forged.location
    if not sink.table.oid:
        if not sink.table.is_delta:
            return "a start finds no table", put(world, number, None)
        sink = _create_table(sink)
    driver = Driver(
        "G2",
        generation=generation,
        location=location,
        oid=sink.table.oid,
        shape=sink.table.shape,
        is_relabelled=world.is_relabelled,
    )
    return "a driver: G1", put(world._replace(sink=sink), number, driver)


def _create_table(sink: Sink) -> Sink:
    """Create a Delta table; the ledger row was in the log of the one that is gone."""
    made = sink.table.made + 1
    table = sink.table._replace(oid=made, file=made, made=made)
    return sink._replace(content=(), row=None, before=(), table=table)


def _driver(world: World, number: int) -> Driver:
    driver = world.drivers[number]
    assert driver is not None
    return driver


def drive(world: World, number: int, rules: Rules) -> Iterator[Step]:
    """Give the next step of a driver, in each way it can go."""
    driver, closings = _driver(world, number), rules.closings
    match driver.step:
        case "G2":
            yield _take_lease(world, number, closings)
        case "G5":
            yield "G5", _fence(world, number, closings)
        case "again":
            yield _judge_again(world, number, closings)
        case "plan":
            yield from _plan(world, number, driver)
        case "sink":
            yield from _decide(world, number, rules)
        case "S6":
            yield from _commit_delta(world, number, rules)
        case _:
            yield f"commits/{driver.batch}", _commit(world, number, driver)


def _take_lease(world: World, number: int, closings: Closings) -> Step:
    driver, row = _driver(world, number), world.sink.row
    after = 0 if row is None else row.epoch
    epoch = next_epoch(world.epochs, world.forged.lease, after, is_capped=closings.caps_epoch)
    if epoch is None:
        return "refused: the newest lease cannot be real", put(world, number, None)
    there = world._replace(epochs=epoch)
    why = None if row is None else examine(world.sink, row, closings)
    if row is None and world.checkpoints[driver.location].entries:
        why = "no row, and the checkpoint has batches"
    if why is not None:
        return f"refused: {why}", put(there, number, None)
    taken = driver._replace(step="G5", epoch=epoch, is_opening=row is None)
    return "G2", put(there, number, taken)


def _fence(world: World, number: int, closings: Closings) -> World:
    driver = _driver(world, number)
    checkpoint = world.checkpoints[driver.location]
    known = driver._replace(query=checkpoint.query)
    sink = world.sink
    if driver.is_relabelled and not closings.finds_by_place and sink.added is None:
        sink = sink._replace(added=_added_row(world, known))
    row = row_for(sink, driver)
    if driver.is_opening:
        row = fresh_row(sink, known)._replace(epoch=0) if row is None else None
    bound = (checkpoint.query, driver.location)
    if row is None or row.epoch >= driver.epoch or (row.query, row.location) != bound:
        return put(world, number, None)
    row = pin(sink, row, closings)._replace(epoch=driver.epoch)
    there = world._replace(sink=put_row(sink, driver, row), fenced=max(world.fenced, driver.epoch))
    return put(there, number, driver._replace(step="again", is_opening=False))


def _added_row(world: World, driver: Driver) -> Row:
    """Return the row of a sink that seems new: it begins after what the checkpoint has done."""
    checkpoint = world.checkpoints[driver.location]
    row = fresh_row(world.sink, driver)._replace(epoch=0)
    if not checkpoint.commits:
        return row
    last = checkpoint.entries[checkpoint.commits - 1]
    digest = driver._replace(planned=last, trades=checkpoint.trades).digest
    return row._replace(last=checkpoint.commits - 1, digest=digest, end=last.end)


def _judge_again(world: World, number: int, closings: Closings) -> Step:
    driver, sink = _driver(world, number), world.sink
    row = row_for(sink, driver)
    why = None if row is None else examine(sink, row, closings)
    if why is not None:
        return f"refused: {why}", put(world, number, None)
    there = put(world, number, driver._replace(step="plan"))
    if sink.content != sink.sent:
        return f"WRONG: a start takes {sink.content} for {sink.sent}", there
    return "G5, judged again", there


def _plan(world: World, number: int, driver: Driver) -> Iterator[Step]:
    checkpoint = world.checkpoints[driver.location]
    entries = checkpoint.entries
    known = driver._replace(
        query=checkpoint.query, source=checkpoint.source, trades=checkpoint.trades, step="sink"
    )
    if checkpoint.source and driver.location != world.location:
        yield f"WRONG: driver {driver.epoch} runs on the checkpoint of another stream", world
    if driver.batch < 0 and len(entries) > checkpoint.commits:
        batch = len(entries) - 1
        yield (
            f"runs batch {batch} again",
            put(world, number, known._replace(batch=batch, planned=entries[batch])),
        )
        return
    batch = len(entries) if driver.batch < 0 else driver.batch + 1
    if batch != len(entries):
        yield "finds that another driver has planned", put(world, number, None)
        return
    for planned in next_batches(entries, has_quiet=world.has_quiet_batch):
        there = store(world, driver.location, checkpoint._replace(entries=(*entries, planned)))
        yield (
            f"offsets/{batch} {planned.content()}",
            put(there, number, known._replace(batch=batch, planned=planned)),
        )


def _decide(world: World, number: int, rules: Rules) -> Iterator[Step]:
    """Decide about a batch and, in PostgreSQL, write it in the same transaction (S2 to S6)."""
    driver = _driver(world, number)
    row = row_for(world.sink, driver)
    decision = rules.decide(row, driver)
    if isinstance(decision, Refuse):
        yield f"batch {driver.batch} refused: {decision.reason.name}", put(world, number, None)
        return
    if not isinstance(decision, Apply):
        yield f"batch {driver.batch} skipped", put(world, number, driver._replace(step="commit"))
        return
    why = look(world.sink, driver, rules.closings)
    if why is not None:
        yield f"batch {driver.batch} refused: {why}", put(world, number, None)
    elif world.sink.table.is_delta:
        if world.sink.content != world.sink.sent:
            yield f"WRONG: batch {driver.batch} goes into {world.sink.content}", world
        looked = driver._replace(step="S6", looked=row)
        yield f"batch {driver.batch} decided", put(world, number, looked)
    else:
        yield from _write(world, number, apply(world.sink, driver))


def _commit_delta(world: World, number: int, rules: Rules) -> Iterator[Step]:
    """Commit what was decided before; of one stream, Delta lets only the next version in."""
    driver, sink = _driver(world, number), world.sink
    if not sink.table.oid:
        if rules.closings.never_creates:
            yield f"batch {driver.batch} refused: no table", put(world, number, None)
            return
        sink = _create_table(sink)
    if sink.row is not None and not isinstance(rules.decide(sink.row, driver), Apply):
        again = driver._replace(step="sink", looked=None)
        yield "finds that its commit was left out", put(world, number, again)
        return
    after = apply(sink, driver)
    if not rules.closings.dates_look and after.row is not None:
        after = after._replace(row=after.row._replace(target=after.table.storage or ""))
    # A table that is changed after the look takes this batch, and must not take the next one.
    is_other = sink.content != sink.sent or sink.table.oid != driver.oid
    yield from _write(world, number, after, is_late=is_other and bool(world.sink.table.oid))


def _write(world: World, number: int, sink: Sink, *, is_late: bool = False) -> Iterator[Step]:
    driver = _driver(world, number)
    writes = f"driver {driver.epoch} writes batch {driver.batch}"
    if driver.epoch < world.fenced:
        yield f"WRONG: {writes} after it was fenced", world
    if driver.generation != world.settled:
        yield f"WRONG: driver {driver.epoch} writes for generation {driver.generation}", world
    if driver.oid != sink.table.oid and not is_late:
        yield f"WRONG: {writes} into another table", world
    if driver.shape != sink.table.shape and driver.content:
        yield f"WRONG: {writes} with values of another type", world
    if not is_late and (not is_right(sink.content) or sink.content != sink.sent):
        yield f"WRONG: batch {driver.batch} makes the output {sink.content}", world
    done = put(world, number, driver._replace(step="commit", looked=None))
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
        return put(world, number, None)
    there = store(world, driver.location, checkpoint._replace(commits=driver.batch + 1))
    return put(there, number, driver._replace(step="plan"))
