"""rewind, replay, move and retire of plain streams: at their own place, with their outputs.

A query that goes back gets a new id. Delta's own sink would leave out every batch that runs again
under the old one, because the table remembers how far that query came.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.layout import METADATA
from holdfast.plan.draft import Draft, Heading, Part, new_plan_id, put_together
from holdfast.plan.entries import metadata_file, sidecar_of
from holdfast.plan.goals.cut import cut_at
from holdfast.plan.goals.outputs import KEEP, RESTORE, OutputChoice, ResetRequest
from holdfast.plan.goals.plain_cut import cut_output
from holdfast.plan.goals.plain_parts import (
    NewTree,
    add_checkpoint,
    by_hand,
    exchange_output,
    hold_first,
    newest_logged,
    refuse_plain,
    restored,
    roots_of,
    settle,
    start_again,
)
from holdfast.plan.goals.plain_reset import plain_reset_part
from holdfast.plan.goals.position import FRESH
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.steps import Permission, PutFile, RemoveFile, Step
from holdfast.plan.world import SinkNow, StreamNow

_BELOW = ResetRequest(start=FRESH, output=OutputChoice.TRUNCATE, outputs={})


def plan_plain_rewind(
    now: StreamNow, below: tuple[StreamNow, ...], *, batch: int, output: str
) -> Plan | NoPlan:
    """Go back to a batch: the checkpoint up to it, and the outputs as they were after it."""
    query_id = str(uuid.uuid4())
    cut = cut_at(now, batch, query_id=query_id)
    if isinstance(cut, NoPlan):
        return cut
    tree = NewTree(contents=cut.files, leaves_out=cut.leaves_out)
    back = _Back(
        goal="rewind",
        shown=f"goes back to batch {batch}",
        batch=batch,
        output=output,
        query_id=query_id,
    )
    return _go_back(now, below, tree, back=back)


def plan_plain_replay(
    now: StreamNow,
    below: tuple[StreamNow, ...],
    first: int,
    *,
    entries: tuple[Step, ...],
    output: str,
) -> Plan | NoPlan:
    """Run the last batches again, after the outputs were put back to before them.

    Args:
        now: The stream.
        below: The streams that read its output; they are reset.
        first: The first of the batches.
        entries: The steps on the logs after which Spark runs their range again.
        output: `restore` the outputs, or `keep` what they hold.
    """
    query_id = str(uuid.uuid4())
    put = {each.path: each.content for each in entries if isinstance(each, PutFile)}
    put[METADATA] = metadata_file(query_id)
    gone = [each.path for each in entries if isinstance(each, RemoveFile)]
    left_out = dict.fromkeys((*gone, *put, *map(sidecar_of, put)))
    tree = NewTree(contents=put, leaves_out=tuple(left_out))
    back = _Back(
        goal="replay",
        shown=f"runs batch {first} again, with the same range",
        batch=first - 1,
        output=output,
        query_id=query_id,
    )
    return _go_back(now, below, tree, back=back)


class _Back(msgspec.Struct, frozen=True, kw_only=True):
    """Where a stream goes back to."""

    goal: str
    shown: str
    batch: int
    output: str
    query_id: str


def _go_back(
    now: StreamNow, below: tuple[StreamNow, ...], tree: NewTree, *, back: _Back
) -> Plan | NoPlan:
    refused = refuse_plain(now)
    if refused is not None:
        return refused
    plan_id = new_plan_id()
    draft = Draft(now=now, plan_id=plan_id)
    outputs = _keep(draft, back) if back.output == KEEP else _restore(draft, back)
    if isinstance(outputs, NoPlan):
        return outputs
    add_checkpoint(draft, tree, outputs)
    parts = [draft.part(back.shown, roots=roots_of(now))]
    for each in below:
        part = plain_reset_part(each, FRESH, _BELOW, plan_id=plan_id)
        if isinstance(part, NoPlan):
            return part
        parts.append(part)
    heading = Heading(
        goal=back.goal,
        summary=f"{now.stream}, which Holdfast does not guard, {back.shown}.",
        undo="The checkpoints and the outputs as they were: both are kept.",
        afterwards=start_again(below),
    )
    return hold_first(put_together(heading, (now, *below), tuple(parts), plan_id=plan_id))


def _keep(draft: Draft, back: _Back) -> list[Step] | NoPlan:
    now, newest = draft.now, newest_logged(draft.now)
    if newest is not None and newest > back.batch:
        return NoPlan(
            reason=f"The output of {now.stream} has batches up to {newest} in its _spark_metadata, "
            "and Spark's file sink leaves out every batch with such a number: what runs again "
            "after this would not be written, and neither would what is new. With --output "
            f"{RESTORE} the output goes back too."
        )
    names = [sink.display_name for sink in now.sinks]
    names += [each.output.display_name for each in now.directories]
    draft.outputs += [f"{each} keeps its rows" for each in (*names, *now.by_hand)]
    why = f"The output of {now.stream} keeps the rows of batches that run again."
    draft.needs.append(Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why))
    return []


def _restore(draft: Draft, back: _Back) -> list[Step] | NoPlan:
    now, steps = draft.now, list[Step]()
    for sink in now.sinks:
        found = _restore_table(draft, sink, back)
        if isinstance(found, NoPlan):
            return found
        steps += found
    for number, each in enumerate(now.directories, start=1):
        tree = cut_output(each, back.batch, now.options)
        if isinstance(tree, NoPlan):
            return tree
        draft.outputs.append(f"{each.output.display_name} goes back to batch {back.batch}")
        steps += exchange_output(draft, each, tree, number=number)
    steps += by_hand(now, f"take the rows of batches after {back.batch} out of the output")
    draft.outputs += [f"left to you: {each}" for each in now.by_hand]
    why = f"The output of {now.stream} loses the rows of batches after {back.batch}, until they run"
    draft.needs.append(
        Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=f"{why} again.")
    )
    return steps


def _restore_table(draft: Draft, sink: SinkNow, back: _Back) -> tuple[Step, ...] | NoPlan:
    version = sink.versions.get(back.batch)
    if version is None:
        return NoPlan(
            reason=f"{sink.display_name} does not say which of its rows batch {back.batch} has "
            f"brought, so it cannot go back to it. With --output {KEEP} it keeps the rows of "
            "later batches, and gets them again.",
        )
    draft.outputs.append(
        f"{sink.display_name} goes back to batch {back.batch} (its version {version})"
    )
    if version == sink.table:
        return ()
    output = restored(sink, version, draft.aside(1))
    return (settle(draft, sink, output, query_id=back.query_id),)


def plan_plain_retire(now: StreamNow) -> Plan | NoPlan:
    """Keep a checkpoint aside, and leave a marker: no program starts from its place again."""
    plan_id = new_plan_id()
    draft = Draft(now=now, plan_id=plan_id)
    add_checkpoint(draft, NewTree(), [])
    del draft.steps[-1]  # it stays held
    why = f"{now.stream} does not start again from this place; its checkpoint is kept."
    draft.needs.append(Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why))
    draft.outputs += [f"{sink.display_name} keeps its rows" for sink in now.sinks]
    heading = Heading(
        goal="retire",
        summary=f"{now.stream}, which Holdfast does not guard, ends. Its outputs keep their rows.",
        undo="The checkpoint as it was.",
    )
    return put_together(heading, (now,), (draft.part("ends"),), plan_id=plan_id)


def hold_old_place(now: StreamNow, copies: Iterator[Step], *, plan_id: str) -> Part:
    """Return the move of a plain stream: copied, and its old place held.

    Args:
        now: The stream.
        copies: The steps that copy its checkpoint.
        plan_id: Of the plan.
    """
    draft = Draft(now=now, plan_id=plan_id, steps=[*copies])
    add_checkpoint(draft, NewTree(), [])
    del draft.steps[-1]
    return draft.part(f"goes on with batch {now.case.newest_committed + 1}")
