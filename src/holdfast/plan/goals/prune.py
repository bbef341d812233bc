"""prune and retire: what is deleted for good, by age or with the end of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from holdfast import clock
from holdfast.ledger.output import COPY, KeepOutput
from holdfast.plan.draft import (
    Draft,
    Heading,
    Part,
    new_plan_id,
    next_row,
    put_together,
)
from holdfast.plan.goal import GoalCase, Option, goal
from holdfast.plan.goals.plain_back import plan_plain_retire
from holdfast.plan.plan_file import Impact, Need, NoPlan, Plan
from holdfast.plan.preconditions import Precondition, TreeIs
from holdfast.plan.requests import LONGEST_DAYS
from holdfast.plan.steps import (
    DiscardTree,
    Permission,
    Step,
)
from holdfast.plan.trees import Files, copy_tree, list_files
from holdfast.plan.world import StreamNow
from holdfast.record.generations import RETIRED, Generation, read_generations
from holdfast.record.layout import SNAPSHOTS
from holdfast.sinks.kinds import kind_of
from holdfast.storage.location import is_inside, parse_location
from holdfast.storage.open import open_reader


@goal(
    "prune",
    "Delete checkpoints of old generations.",
    Option(
        flag="--older-than",
        field="days",
        keyword="older_than_days",
        metavar="DAYS",
        least=0,
        most=LONGEST_DAYS,
        is_required=True,
        help="How long ago the generation must have been left.",
    ),
)
def plan_prune(asked: GoalCase) -> Plan | NoPlan:
    """Delete the checkpoints of generations that were left long ago; never the current one."""
    # Nor one that the current generation went back to: see `_left`.
    now, days, guard = asked.now, asked.request.days, asked.now.guard
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
    """Yield what stays although nothing can need it any more: the copies of rows."""
    for sink in now.sinks:
        kind = kind_of(sink.contract)
        if kind is not None and kind.find_copies:
            label = sink.contract.label
            yield f"Drop the tables {COPY}… with old rows of {label}. {kind.find_copies}"


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


@goal("retire", "End a stream for good.")
def plan_retire(asked: GoalCase) -> Plan | NoPlan:
    """End a stream for good: fence its sinks, archive its checkpoint, then delete it.

    Its sinks keep their rows. Prove the pipeline first: `holdfast prove`.
    """
    now = asked.now
    if now.is_plain:
        return plan_plain_retire(now)
    refused = now.refuse_unreadable()
    if now.guard is None or refused is not None:
        return refused or NoPlan(reason=f"{now.stream} has no record of a guarded run.")
    plan_id = new_plan_id()
    found = list_files(now.checkpoint)
    archive = str(now.record.location.join(SNAPSHOTS, f"retired-{plan_id}"))
    draft = Draft(now=now, plan_id=plan_id)
    # The rows keep their query id: nothing of this generation ever runs.
    opened = next_row(now, str(now.guard.generation.query_id))
    draft.open_generation(opened, made=RETIRED, why="Every later start of this name is refused.")
    for sink in now.sinks:
        if sink.row is not None:
            place = opened.binding.checkpoint
            binding = replace(sink.row.binding, checkpoint=place)
            row = replace(sink.row, generation=opened.generation, binding=binding)
            why = "No driver that still runs somewhere can write to it."
            draft.settle(sink, row, KeepOutput(), why=why)
        draft.outputs.append(f"{sink.display_name} keeps its rows, and takes no more")
    if found.count:
        archived = "The checkpoint is archived before it is deleted."
        draft.steps.append(copy_tree(now.stream, now.place, archive, files=found, why=archived))
        why = f"Its archive is {archive}."
        draft.steps.append(_discard(now, now.place, found, why=why))
    told = f"{now.stream} can never be started again, and its checkpoint is archived."
    draft.needs.append(Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=told))
    heading = Heading(
        goal="retire",
        summary=f"{now.stream} ends for good. Its sinks keep their rows.",
        undo=f"By hand, from the archive {archive}.",
    )
    part = draft.part("ends", preconditions=(_tree_is(now, now.place, found),))
    return put_together(heading, (now,), (part,), plan_id=plan_id)


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
