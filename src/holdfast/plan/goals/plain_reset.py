"""reset of plain streams: a new checkpoint at the same place, from a named position."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from holdfast import clock
from holdfast.checkpoint.file_sink import DIRECTORY
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.plan.draft import Draft, Heading, Part, new_plan_id, put_together
from holdfast.plan.entries import commit_file, metadata_file, metadata_like, offset_file
from holdfast.plan.goals.outputs import OutputChoice, ResetRequest, not_read_again
from holdfast.plan.goals.plain_parts import (
    NewTree,
    add_checkpoint,
    by_hand,
    emptied,
    exchange_output,
    hold_first,
    newest_logged,
    refuse_plain,
    roots_of,
    settle,
    start_again,
)
from holdfast.plan.goals.position import FRESH, HERE, Position, find_position
from holdfast.plan.goals.refusals import named
from holdfast.plan.plain import holds_batch
from holdfast.plan.plan_file import Change, Need, NoPlan, Plan
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
        afterwards=start_again(
            streams,
            renamed=[
                each.stream
                for each in streams
                if request.of(each.stream, "") is OutputChoice.NEW_TABLE
            ],
        ),
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
    if any(name != f"{now.stream}/" for name in request.outputs):
        return NoPlan(
            reason=f"The outputs of {now.stream} have no names of their own, because it is not "
            "guarded: --output answers for all of them, and --output-of for none."
        )
    choice = request.of(now.stream, "")
    refused = None if choice is OutputChoice.NEW_TABLE else refuse_plain(now)
    refused = refused or _refuse_pending(now, start)
    position = refused or find_position(now, start)
    if isinstance(position, NoPlan):
        return position
    newest = newest_logged(now) if choice is OutputChoice.KEEP else None
    if newest is not None and position.offsets is None:
        return _refuse_unnumbered(now, newest)
    if choice is OutputChoice.NEW_TABLE and now.directories and position.offsets is not None:
        return _refuse_numbered(now)
    query_id, changes = str(uuid.uuid4()), (*position.changes, *_lost(now, position, choice))
    draft = Draft(now=now, plan_id=plan_id, needs=[*_needs(now, position, choice, changes=changes)])
    outputs = list(_outputs(draft, choice, position, query_id=query_id))
    files = _files(now, position, query_id, batch=newest or 0)
    is_renamed = choice is OutputChoice.NEW_TABLE
    add_checkpoint(draft, NewTree(contents=files), outputs, is_renamed=is_renamed)
    return draft.part(
        position.shown,
        changes=changes,
        preconditions=position.preconditions,
        roots=roots_of(now),
    )


def _files(now: StreamNow, position: Position, query_id: str, *, batch: int) -> dict[str, str]:
    """Return the new checkpoint, which goes on after a batch; Spark asks for the one before too."""
    files = {METADATA: metadata_file(query_id), **position.files}
    if position.offsets is not None:
        line = metadata_like(None, now_ms=int(clock.now().timestamp() * 1000))
        entry = offset_file(position.offsets, line, sources=now.source_count)
        files |= {f"{OFFSETS}/{each}": entry for each in range(max(batch - 1, 0), batch + 1)}
        files[f"{COMMITS}/{batch}"] = commit_file()
    return files


def _refuse_unnumbered(now: StreamNow, newest: int) -> NoPlan:
    """Refuse to begin with batch 0 beside a log that has one: there is no position to number."""
    return NoPlan(
        reason=f"The output of {now.stream} has batches up to {newest} in its _spark_metadata, and "
        "Spark's file sink leaves out every batch with such a number. The new checkpoint would "
        "begin with batch 0, because the options of its sources say where it begins. Empty the "
        "output (--output truncate), or name another directory in the code (--output new-table)."
    )


def _refuse_numbered(now: StreamNow) -> NoPlan:
    """Refuse to begin with batch 1 in a new directory: its log would have no batch 0."""
    return NoPlan(
        reason=f"The new checkpoint of {now.stream} would hold its position as batch 0, and a new "
        "directory would get batches from 1 on. A _spark_metadata without batch 0 cannot be read, "
        "and stops the query when it is compacted. With --output truncate the directory is "
        "emptied, and its files are kept."
    )


def _outputs(
    draft: Draft, choice: OutputChoice, position: Position, *, query_id: str
) -> Iterator[Step]:
    now = draft.now
    if choice is not OutputChoice.TRUNCATE:
        is_kept = choice is OutputChoice.KEEP
        stays = "keeps its rows" if is_kept else "is left alone: name another output in the code"
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
        # The position is batch 0 of the new checkpoint, and the log of the output must have it.
        log = {f"{DIRECTORY}/0": "v1"} if position.offsets is not None else {}
        yield from exchange_output(draft, each, NewTree(contents=log), number=number)
    draft.outputs += [f"left to you: {each}" for each in now.by_hand]
    yield from by_hand(now, "empty the output")


def _lost(now: StreamNow, position: Position, choice: OutputChoice) -> Iterator[Change]:
    """Yield the rows that an output loses, or a new one never gets: they are not read again."""
    if position.is_whole or choice is OutputChoice.KEEP:
        return
    for sink in now.sinks:
        yield not_read_again(sink.display_name, sink.rows)
    for each in now.directories:
        yield not_read_again(each.output.display_name, None)


def _needs(
    now: StreamNow, position: Position, choice: OutputChoice, *, changes: tuple[Change, ...]
) -> Iterator[Need]:
    for change in changes:
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
