"""rewind: go back to an earlier batch, in a new generation on a copy of the checkpoint.

The old checkpoint stays as it is. The copy has nothing of later batches, so Spark plans them again.
Every sink goes back to the batch in the step that fences it, where the sink has older versions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.plan.draft import (
    Draft,
    Heading,
    Part,
    copy_checkpoint,
    new_plan_id,
    next_row,
    put_together,
)
from holdfast.plan.entries import sidecar_of
from holdfast.plan.goal import GoalCase, Option, goal
from holdfast.plan.goals.cut import Cut, cut_at
from holdfast.plan.goals.ledger_rows import newest_rows
from holdfast.plan.goals.outputs import CASCADE, RESTORE, restored_output
from holdfast.plan.goals.plain_back import plan_plain_rewind
from holdfast.plan.goals.put_back import (
    needs_for_unledgered_sinks,
    needs_of,
    reset_below,
    rollback_output,
    say_put_back,
)
from holdfast.plan.goals.refusals import refuse_locked
from holdfast.plan.goals.relocate import relocate
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import PutFile, Step
from holdfast.plan.world import StreamNow, at_snapshot
from holdfast.record.generations import REWOUND, read_generations
from holdfast.record.layout import SNAPSHOTS
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader


@goal(
    "rewind",
    "Go back to an earlier batch.",
    Option(
        flag="--to-batch",
        field="batch",
        keyword="to_batch",
        is_required=True,
        help="The last batch that stays.",
    ),
    restored_output("that batch"),
    CASCADE,
    changes_output=True,
    names_batches=True,
)
def plan_rewind(asked: GoalCase) -> Plan | NoPlan:
    """Go back to an earlier batch: a new generation on a copy of the checkpoint up to there."""
    request = asked.request
    if asked.now.is_plain:
        return plan_plain_rewind(
            asked.now, asked.below, batch=request.batch or 0, output=request.output
        )
    return go_back(asked.now, asked.below, batch=request.batch or 0, output=request.output)


@goal(
    "restore",
    "Go back to a snapshot.",
    Option(
        flag="--snapshot",
        field="target",
        keyword="snapshot",
        metavar="NAME",
        is_required=True,
        help="The snapshot's name.",
    ),
    CASCADE,
    changes_output=True,
)
def plan_restore(asked: GoalCase) -> Plan | NoPlan:
    """Begin a new generation on a copy of a snapshot; the sinks are put back to its batch."""
    now, name = asked.now, asked.request.target
    place = now.record.location.join(SNAPSHOTS, name)
    if not open_reader(place, now.options).list().files:
        return NoPlan(reason=f"{now.stream} has no snapshot {name}.")
    if now.guard is None:
        return NoPlan(
            reason=f"{now.stream} has no record of a guarded run, so no new generation can begin. "
            f"Stop the query, and copy the files of {place} over the checkpoint."
        )
    kept = at_snapshot(now, place)
    if not _shares_batch_numbering(now, kept):
        return NoPlan(
            reason=f"The snapshot {name} is of an earlier generation of {now.stream}: its sinks "
            "hold other batches under the same numbers by now. Take back what began the new "
            "generation with `holdfast undo`, then restore."
        )
    return go_back(kept, asked.below, batch=kept.case.newest_committed, output=RESTORE)


def _shares_batch_numbering(now: StreamNow, kept: StreamNow) -> bool:
    """Return whether batch numbers of a snapshot mean the same in the current generation."""
    metadata, batch = kept.case.checkpoint.metadata, kept.case.newest_committed
    generations = list(read_generations(now.record))
    while generations and isinstance(metadata, QueryMetadata):
        each = generations.pop()
        if each.query_id == metadata.query_id:
            return True
        if each.why != REWOUND or each.first_batch <= batch:
            return False
    return False


def go_back(
    now: StreamNow, below: tuple[StreamNow, ...], *, batch: int, output: str
) -> Plan | NoPlan:
    """Return the plan that goes back to a batch.

    Args:
        now: The stream, as it is now, or as a snapshot has it.
        below: The streams that read its output, in the order of the data; they are reset.
        batch: The last batch that stays.
        output: `restore` the sinks to that batch, or `keep` what they hold.
    """
    plan_id = new_plan_id()
    refused = refuse_locked(now) or now.refuse_unreadable()
    if now.guard is None or refused is not None:
        return refused or NoPlan(reason=f"{now.stream} has no record of a guarded run.")
    rows = newest_rows(now)
    if isinstance(rows, NoPlan):
        return rows
    part = _part(now, batch=batch, output=output, plan_id=plan_id)
    if isinstance(part, NoPlan):
        return part
    parts = reset_below(below, plan_id=plan_id)
    if isinstance(parts, NoPlan):
        return parts
    also = f", and a reset of {', '.join(each.stream for each in below)}" if below else ""
    heading = Heading(
        goal="rewind",
        summary=f"{now.stream} goes back to batch {batch}{also}.",
        undo="Until `prune`: the checkpoint of before stays, and so do the rows. Undoing opens "
        "one more generation, on the checkpoint of before.",
        afterwards=("Start the streams." if below else "Start the stream.",),
    )
    return put_together(heading, (now, *below), (part, *parts), plan_id=plan_id)


def _part(now: StreamNow, *, batch: int, output: str, plan_id: str) -> Part | NoPlan:
    query_id = str(uuid.uuid4())
    cut = cut_at(now, batch, query_id=query_id)
    if isinstance(cut, NoPlan):
        return cut
    row = next_row(now, query_id, batch=cut.batch, covered=cut.covered)
    draft = Draft(now=now, plan_id=plan_id)
    draft.steps += copy_cut(now, cut, parse_location(row.binding.checkpoint))
    assert now.guard is not None
    why = f"From here on {now.stream} is in generation {row.generation}."
    draft.open_generation(row, made=REWOUND, began=now.guard.generation.began, why=why)
    draft.needs += needs_for_unledgered_sinks(now, f"batches after {batch}")
    for at, sink in enumerate(now.sinks, start=1):
        aside = draft.aside(at)
        settled = rollback_output(sink, now.stream, batch=batch, output=output, aside=aside)
        if isinstance(settled, NoPlan):
            return settled
        if sink.row is not None:
            draft.settle(sink, row, settled, why="The sink goes back in the step that fences it.")
        draft.outputs.append(say_put_back(sink, settled, f"batch {batch}"))
        if sink.row is None or sink.row.last_batch != batch:  # else it holds nothing of later ones
            draft.needs += needs_of(now, sink, settled, rows="later batches")
    return draft.part(f"goes on with batch {batch + 1}, which Spark plans again")


def copy_cut(now: StreamNow, cut: Cut, target: Location) -> Iterator[Step]:
    """Yield the steps that make a checkpoint up to a batch in another place."""
    moved = relocate(now.checkpoint, target)
    written = {**cut.files, **{path: moved[path] for path in moved if path not in cut.leaves_out}}
    left_out = tuple(dict.fromkeys((*cut.leaves_out, *moved, *map(sidecar_of, moved))))
    why = f"The checkpoint up to batch {cut.batch}; the old one stays."
    yield copy_checkpoint(now, target, leaves_out=left_out, why=why)
    for path, content in written.items():
        yield PutFile(
            stream=now.stream,
            place=str(target),
            path=path,
            content=content,
            why=f"As it is after batch {cut.batch}.",
        )
