"""What somebody does to a stream in the model: resets, rewinds, and what is done by hand."""

from __future__ import annotations

from collections.abc import Iterator

from tests.unit.ledger.model import Batch, Checkpoint, Row, Sink, World

Step = tuple[str, World]


def store(world: World, location: int, checkpoint: Checkpoint) -> World:
    """Change a checkpoint."""
    there = list(world.checkpoints)
    there[location] = checkpoint
    return world._replace(checkpoints=tuple(there))


def reset(world: World) -> Iterator[Step]:
    """Open the next generation; then empty the output and fence it, in one step."""
    if not world.sink.table.oid:
        return
    if world.reset_advice:
        yield "reset: the output is emptied and fenced", settle(world)
    elif world.budget.resets:
        budget = world.budget._replace(resets=world.budget.resets - 1)
        fresh = Checkpoint(query=world.generation + 1, source=0)
        yield (
            "reset: the next generation is opened",
            world._replace(
                checkpoints=(*world.checkpoints, fresh),
                generation=world.generation + 1,
                location=len(world.checkpoints),
                reset_advice=True,
                budget=budget,
            ),
        )


def settle(world: World) -> World:
    """Empty the output for the generation that was opened; what was lost before is lost no more."""
    epoch = world.epochs + 1
    query = world.checkpoints[world.location].query
    made = world.sink.table.made + 1
    table = world.sink.table._replace(file=made, made=made)
    fresh = Row(
        generation=world.generation,
        epoch=epoch,
        query=query,
        location=world.location,
        last=-1,
        digest=None,
        end=0,
        target=table.storage or "",
    )
    sink = Sink(content=(), row=fresh, table=table)
    return world._replace(
        sink=sink,
        epochs=epoch,
        fenced=epoch,
        settled=world.generation,
        reset_advice=False,
        tampered=False,
    )


def rewind(world: World) -> Iterator[Step]:
    """Go back to after the first batch, in the same checkpoint, when nobody holds a lease."""
    if any(driver is not None and driver.step != "G2" for driver in world.drivers):
        return
    checkpoint, row = world.checkpoints[world.location], world.sink.row
    if not world.budget.rewinds or world.reset_advice or row is None or row.last < 1:
        return
    if checkpoint.commits < 1:
        return
    first, epoch = checkpoint.entries[0], world.epochs + 1
    there = store(
        world, world.location, checkpoint._replace(entries=checkpoint.entries[:1], commits=1)
    )
    row = row._replace(
        generation=world.generation + 1,
        epoch=epoch,
        last=0,
        digest=f"{first} {first.content()}",
        end=first.end,
        brought=0,
        rows=0,
    )
    content = first.content()
    yield (
        "rewind to batch 0",
        there._replace(
            generation=world.generation + 1,
            settled=world.generation + 1,
            epochs=epoch,
            fenced=epoch,
            sink=Sink(content=content, row=row, sent=content, table=world.sink.table),
            budget=world.budget._replace(rewinds=world.budget.rewinds - 1),
        ),
    )


def tamper(world: World) -> Iterator[Step]:
    """Do what people do to checkpoints and tables by hand; to refuse afterwards is right."""
    budget = world.budget._replace(tampering=world.budget.tampering - 1)
    world = world._replace(budget=budget, tampered=True)
    checkpoint, sink = world.checkpoints[world.location], world.sink
    if sink.row is not None:
        yield "the ledger row is deleted", world._replace(sink=sink._replace(row=None))
    for back, (content, row) in enumerate(reversed(sink.before), start=1):
        restored = world._replace(
            sink=Sink(content=content, row=row, sent=content, table=sink.table)
        )
        yield f"the sink is restored from {back} batches ago", restored
    for back in range(1, len(checkpoint.entries)):
        kept = len(checkpoint.entries) - back
        older = Checkpoint(
            checkpoint.query, 0, checkpoint.entries[:kept], min(kept, checkpoint.commits)
        )
        yield f"the checkpoint is restored from {back} ago", store(world, world.location, older)
    if checkpoint.entries and checkpoint.entries[-1].end - checkpoint.entries[-1].start > 1:
        last = checkpoint.entries[-1]
        entries = (*checkpoint.entries[:-1], Batch(last.start, last.end - 1))
        there = store(world, world.location, checkpoint._replace(entries=entries))
        yield "an offset entry is overwritten by a late request", there
    # A driver that lives has the source's log in memory.
    is_quiet = not any(world.drivers)
    if is_quiet and checkpoint.entries == (Batch(0, 1),) and not checkpoint.commits:
        there = store(world, world.location, checkpoint._replace(trades=True))
        yield "the source's log is rewritten", there
    swapped = checkpoint._replace(query=99, source=1)
    yield "another query's checkpoint is put there", store(world, world.location, swapped)
