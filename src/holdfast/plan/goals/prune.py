"""prune and retire: what is deleted for good, by age or with the end of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec

from holdfast import clock
from holdfast.ledger.output import KeepOutput
from holdfast.plan.draft import Heading, Part, new_plan_id, put_generation, put_together
from holdfast.plan.plan_file import Impact, Need, NoPlan, Plan
from holdfast.plan.preconditions import Precondition, TreeIs
from holdfast.plan.steps import (
    DiscardTree,
    Permission,
    PutFile,
    RowValue,
    SettleSink,
    Step,
    row_value,
)
from holdfast.plan.trees import Files, copy_tree, list_files
from holdfast.plan.world import StreamNow
from holdfast.record.generations import RETIRED, Generation, read_generations
from holdfast.record.layout import SNAPSHOTS, checkpoint_location
from holdfast.storage.location import is_inside, parse_location
from holdfast.storage.open import open_reader


def plan_prune(now: StreamNow, *, days: int) -> Plan | NoPlan:
    """Return the plan that deletes checkpoints of generations that were left long ago.

    Never the current one, nor one that the current generation went back to.

    Args:
        now: The stream, as it is now.
        days: How long ago a generation must have been left.
    """
    guard = now.guard
    if guard is None:
        return NoPlan(reason=f"{now.stream} has no record, so it has one checkpoint only.")
    steps: list[Step] = []
    held: list[Precondition] = []
    for each, after in _left(now, before=clock.now() - timedelta(days=days)):
        found = list_files(open_reader(parse_location(each.checkpoint), now.options))
        if found.count:
            why = f"Generation {each.number} was left on {after.opened_at}."
            steps.append(_discard(now, each.checkpoint, found, why=why))
            held.append(_tree_is(now, each.checkpoint, found))
    if not steps:
        return NoPlan(
            reason=f"No generation of {now.stream} was left more than {days} days ago.",
            is_fine=True,
        )
    told = f"The checkpoints of {len(steps)} older generations are deleted for good."
    need = Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=told)
    heading = Heading(
        goal="prune",
        summary=told,
        undo="Nothing: this cannot be taken back.",
        afterwards=tuple(_say_kept_rows(now)),
    )
    impact = Impact(stream=now.stream, position="goes on as it is")
    part = Part(steps=tuple(steps), impact=impact, needs=(need,), preconditions=tuple(held))
    return put_together(heading, (now,), (part,), plan_id=new_plan_id())


def _say_kept_rows(now: StreamNow) -> Iterator[str]:
    """Yield what stays although nothing can need it any more: the copies of rows, in PostgreSQL."""
    for sink in now.sinks:
        if sink.contract.kind == "postgres":
            yield (
                f"Drop the tables holdfast.kept_… with old rows of {sink.contract.label}. "
                "holdfast.settled names each, in the column aside."
            )


def _left(now: StreamNow, *, before: datetime) -> Iterator[tuple[Generation, Generation]]:
    """Yield the generations whose checkpoint was left before a moment, each with the next one.

    An undone generation goes back to a checkpoint: it was left when the last of them was.
    """
    generations = list(read_generations(now.record))
    current = parse_location(generations[-1].checkpoint)
    last = {each.checkpoint: (each, after) for each, after in pairwise(generations)}
    for each, after in last.values():
        place = parse_location(each.checkpoint)
        is_used = is_inside(current, place) or is_inside(now.record.location, place)
        if not is_used and is_inside(place, now.root) and _moment(after.opened_at) < before:
            yield each, after


def plan_retire(now: StreamNow) -> Plan | NoPlan:
    """Return the plan that ends a stream for good: fenced, archived, then deleted."""
    refused = now.refuse_unreadable()
    if now.guard is None or refused is not None:
        return refused or NoPlan(reason=f"{now.stream} has no record of a guarded run.")
    plan_id = new_plan_id()
    found = list_files(now.checkpoint)
    archive = str(now.record.location.join(SNAPSHOTS, f"retired-{plan_id}"))
    steps: list[Step] = [_opening(now)]
    steps += [_fence(now, number) for number, sink in enumerate(now.sinks) if sink.row is not None]
    if found.count:
        archived = "The checkpoint is archived before it is deleted."
        steps.append(copy_tree(now.stream, now.place, archive, files=found, why=archived))
        why = f"Its archive is {archive}."
        steps.append(_discard(now, now.place, found, why=why))
    told = f"{now.stream} can never be started again, and its checkpoint is archived."
    need = Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=told)
    heading = Heading(
        goal="retire",
        summary=f"{now.stream} ends for good. Its sinks keep their rows.",
        undo=f"By hand, from the archive {archive}.",
    )
    outputs = tuple(f"{sink.shown} keeps its rows, and takes no more" for sink in now.sinks)
    impact = Impact(stream=now.stream, position="ends", outputs=outputs)
    part = Part(
        steps=tuple(steps),
        impact=impact,
        needs=(need,),
        preconditions=(_tree_is(now, now.place, found),),
    )
    return put_together(heading, (now,), (part,), plan_id=plan_id)


def _opening(now: StreamNow) -> PutFile:
    """Return the generation that no start can run."""
    guard = now.guard
    assert guard is not None
    number = now.generation + 1
    retired = Generation(
        number=number,
        checkpoint=str(checkpoint_location(now.root, now.stream, number)),
        query_id=guard.generation.query_id,
        first_batch=0,
        why=RETIRED,
        opened_at=clock.now().isoformat(timespec="seconds"),
    )
    return put_generation(now, retired, why="Every later start of this name is refused.")


def _fence(now: StreamNow, number: int) -> SettleSink:
    sink = now.sinks[number]
    assert sink.row is not None
    old = row_value(sink.row)
    return SettleSink(
        stream=now.stream,
        sink=sink.contract,
        old=old,
        new=_retired(old, now),
        output=KeepOutput(),
        why="No driver that still runs somewhere can write to it.",
    )


def _retired(old: RowValue, now: StreamNow) -> RowValue:
    place = checkpoint_location(now.root, now.stream, now.generation + 1)
    return msgspec.structs.replace(old, generation=now.generation + 1, checkpoint=str(place))


def _discard(now: StreamNow, place: str, found: Files, *, why: str) -> DiscardTree:
    return DiscardTree(
        stream=now.stream,
        place=place,
        files=found.count,
        fingerprint=found.fingerprint,
        why=why,
    )


def _tree_is(now: StreamNow, place: str, found: Files) -> TreeIs:
    return TreeIs(stream=now.stream, place=place, fingerprint=found.fingerprint)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.now(tz=UTC)
