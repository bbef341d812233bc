"""reset of plain streams: a new checkpoint at the same place, from a named position."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.plan.draft import Draft, Heading, Part, new_plan_id, put_together
from holdfast.plan.entries import commit_file, metadata_file, metadata_like, offset_file
from holdfast.plan.goals.outputs import OutputChoice, ResetRequest
from holdfast.plan.goals.plain_parts import (
    NewTree,
    add_checkpoint,
    by_hand,
    emptied,
    exchange_output,
    hold_first,
    refuse_plain,
    roots_of,
    settle,
    start_again,
)
from holdfast.plan.goals.position import FRESH, HERE, Position, find_position
from holdfast.plan.goals.refusals import named
from holdfast.plan.plain import holds_batch
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.steps import Permission, Step
from holdfast.plan.world import StreamNow


def plan_plain_reset(streams: tuple[StreamNow, ...], request: ResetRequest) -> Plan | NoPlan:
    """Begin plain streams again, each at its own place; what was there is kept."""
    plan_id, parts = new_plan_id(), []
    for number, now in enumerate(streams):
        part = plain_reset_part(
            now, request.start if number == 0 else FRESH, request, plan_id=plan_id
        )
        if isinstance(part, NoPlan):
            return part
        parts.append(part)
    names = ", ".join(each.stream for each in streams)
    heading = Heading(
        goal="reset",
        summary=f"Reset of {names}, which Holdfast does not guard.",
        undo="The checkpoints and the outputs as they were: both are kept.",
        afterwards=start_again(streams),
    )
    return hold_first(put_together(heading, streams, tuple(parts), plan_id=plan_id))


def plain_reset_part(
    now: StreamNow, start: str, request: ResetRequest, *, plan_id: str
) -> Part | NoPlan:
    """Return what a reset does to one plain stream."""
    if not now.is_plain:
        return NoPlan(
            reason=f"{now.stream} is guarded, and a plan for plain streams leaves its ledgers "
            f"alone. Reset it by a plan of its own: holdfast plan reset {named(now)}."
        )
    choice = request.of(now.stream, "")
    refused = None if choice is OutputChoice.NEW_TABLE else refuse_plain(now)
    refused = refused or _refuse_pending(now, start)
    position = refused or find_position(now, start)
    if isinstance(position, NoPlan):
        return position
    query_id = str(uuid.uuid4())
    draft = Draft(now=now, plan_id=plan_id, needs=[*_needs(now, position, choice)])
    outputs = list(_outputs(draft, choice, query_id=query_id))
    add_checkpoint(draft, NewTree(contents=_files(now, position, query_id)), outputs)
    return draft.part(
        position.shown,
        changes=position.changes,
        preconditions=position.preconditions,
        roots=roots_of(now),
    )


def _files(now: StreamNow, position: Position, query_id: str) -> dict[str, str]:
    """Return the new checkpoint."""
    files = {METADATA: metadata_file(query_id), **position.files}
    if position.offsets is not None:
        line = metadata_like(None, now_ms=int(clock.now().timestamp() * 1000))
        files[f"{OFFSETS}/0"] = offset_file(position.offsets, line, sources=now.source_count)
        files[f"{COMMITS}/0"] = commit_file()
    return files


def _outputs(draft: Draft, choice: OutputChoice, *, query_id: str) -> Iterator[Step]:
    now = draft.now
    if choice is not OutputChoice.TRUNCATE:
        stays = "keeps its rows" if choice is OutputChoice.KEEP else "is left alone"
        names = [sink.display_name for sink in now.sinks]
        names += [each.output.display_name for each in now.directories]
        draft.outputs += [f"{each} {stays}" for each in (*names, *now.by_hand)]
        return
    for number, sink in enumerate(now.sinks, start=1):
        if sink.table is None:
            continue  # there is no such table yet
        rows = f" ({sink.rows:,} rows)" if sink.rows is not None else ""
        draft.outputs.append(f"{sink.display_name} is emptied{rows}; its rows are kept")
        yield settle(draft, sink, emptied(sink, draft.aside(number)), query_id=query_id)
    for number, each in enumerate(now.directories, start=1):
        draft.outputs.append(f"{each.output.display_name} is emptied; its files are kept")
        yield from exchange_output(draft, each, NewTree(), number=number)
    draft.outputs += [f"left to you: {each}" for each in now.by_hand]
    yield from by_hand(now, "empty the output")


def _needs(now: StreamNow, position: Position, choice: OutputChoice) -> Iterator[Need]:
    for change in position.changes:
        if change.kind in ("loses", "skips"):
            why = f"{now.stream}: {change.what}."
            yield Need(permission=Permission.SKIPS_DATA, stream=now.stream, why=why)
    if choice is OutputChoice.TRUNCATE:
        is_found = now.sinks or now.directories
        why = f"The output of {now.stream} is emptied{'' if is_found else ', by you'}."
        yield Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why)
    elif choice is OutputChoice.KEEP and position.rereads:
        why = f"The output of {now.stream} keeps its rows, and gets those that are read again."
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)


def _refuse_pending(now: StreamNow, start: str) -> NoPlan | None:
    """Refuse to begin where the outputs end while that is not known."""
    planned = now.case.newest_planned
    if start != HERE or planned <= now.case.newest_committed:
        return None
    if holds_batch(now.case, now.query_id, planned) is not None:
        return None
    return NoPlan(
        reason=f"Batch {planned} is planned and not committed, and whether the output of "
        f"{now.stream} holds it is not known. Start the stream once, so that the batch ends, or "
        "name the output with --sink."
    )
