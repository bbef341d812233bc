"""Two more actors of the model: one changes the table, the other writes into the record.

Both act between any two steps, also while drivers run. To refuse afterwards is right, as long as it
is needed: after a harmless change, or once a forged file was moved aside, a start must succeed.

Not played, because the shipped checks do not cover it:

- another table with as many rows in the place of one that was dropped: rows are counted, not read
- rows that are deleted while others stay
- a lease that is forged before the first start: no sink holds an epoch to compare it with
- a forged generation that says that it was adopted
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.record.bounds import MAX_EPOCH
from tests.unit.ledger.closings import own_checkpoint
from tests.unit.ledger.hands import Step
from tests.unit.ledger.model import Checkpoint, Forged, Sink, Table, World

FAR = MAX_EPOCH - 1
"""The start that goes on from it takes the last epoch that there is."""


def change_table(world: World) -> Iterator[Step]:
    """Change the table as people and tools do, and leave the ledger row alone."""
    if not world.budget.changes or not world.sink.table.oid:
        return
    budget = world.budget._replace(changes=world.budget.changes - 1)
    for name, sink in _change(world.sink):
        if budget.of_kind not in name:
            continue
        # Delta refuses every commit that takes rows out, also of an empty table.
        is_harmed = sink.content != world.sink.content or not sink.table.oid or sink.table.is_delta
        yield (
            f"the table is {name}",
            world._replace(sink=sink, budget=budget, tampered=world.tampered or is_harmed),
        )


def _change(sink: Sink) -> Iterator[tuple[str, Sink]]:
    table = sink.table
    made = table.made + 1
    rewritten = table._replace(file=made, made=made)
    yield "truncated", sink._replace(content=(), table=rewritten)
    for back, (content, _) in enumerate(reversed(sink.before), start=1):
        restored = sink._replace(content=content, table=rewritten)
        yield f"restored alone from {back} batches ago", restored
    yield "dropped", sink._replace(content=(), table=table._replace(oid=0))
    if not table.is_delta:
        yield from _change_postgres(sink, rewritten)


def _change_postgres(sink: Sink, rewritten: Table) -> Iterator[tuple[str, Sink]]:
    table, made = sink.table, rewritten.made
    yield "rewritten by VACUUM FULL", sink._replace(table=rewritten)
    again = rewritten._replace(oid=made)
    yield "dropped and created again", sink._replace(content=(), table=again)
    other = tuple(f"foreign {each}" for each in sink.content)
    aside = (*table.aside, table.oid)
    yield (
        "renamed, and another has its name",
        sink._replace(content=other, table=again._replace(aside=aside)),
    )
    retyped = table._replace(shape=1 - table.shape)
    yield "given another type in a column", sink._replace(table=retyped)


def forge(world: World) -> Iterator[Step]:
    """Put a lease or a generation into the record, or move the forged file aside again."""
    if world.forged != Forged():
        yield "the forged file is moved aside", world._replace(forged=Forged())
    elif world.budget.forgeries:
        budget = world.budget._replace(forgeries=world.budget.forgeries - 1)
        there = world._replace(budget=budget)
        yield "a lease far above is forged", there._replace(forged=Forged(lease=FAR))
        yield from _forge_generation(there)


def _forge_generation(world: World) -> Iterator[Step]:
    """Forge the current generation with another checkpoint, or open one more."""
    another = Checkpoint(query=99, source=1)
    elsewhere = Forged(
        generation=world.generation,
        location=len(world.checkpoints),
        checkpoint="/srv/streams/another-stream",
    )
    yield (
        "a generation is forged on the checkpoint of another stream",
        world._replace(checkpoints=(*world.checkpoints, another), forged=elsewhere),
    )
    if world.sink.row is None:
        return  # a stream that has never written anything can begin with it: nothing is lost
    number = world.generation + 1
    empty = Checkpoint(query=98, source=0)
    opened = elsewhere._replace(generation=number, checkpoint=own_checkpoint(number))
    yield (
        "the next generation is forged",
        world._replace(checkpoints=(*world.checkpoints, empty), forged=opened),
    )


def relabel(world: World) -> Iterator[Step]:
    """Give the sink another label in the code; drivers that run know the old one."""
    if world.budget.relabels:
        budget = world.budget._replace(relabels=world.budget.relabels - 1)
        yield (
            "the sink is given another label",
            world._replace(budget=budget, is_relabelled=not world.is_relabelled),
        )
