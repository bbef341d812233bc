"""clone, move and snapshot: a checkpoint copied as it is, under a new name, place or identity."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.layout import METADATA
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.ledger.row import Binding
from holdfast.plan.draft import (
    Heading,
    Part,
    copy_checkpoint,
    new_plan_id,
    put_together,
    settle_sink,
)
from holdfast.plan.entries import metadata_file, sidecar_of
from holdfast.plan.goal import GoalCase, Option, goal
from holdfast.plan.goals.plain_back import hold_old_place
from holdfast.plan.goals.refusals import named
from holdfast.plan.goals.relocate import relocate
from holdfast.plan.plan_file import Impact, NoPlan, Plan
from holdfast.plan.steps import PutFile, Step
from holdfast.plan.trees import copy_tree, list_files
from holdfast.plan.world import StreamNow
from holdfast.record.documents import encode
from holdfast.record.generations import (
    CLONED,
    MOVED,
    Generation,
    newest_generation,
    read_generations,
)
from holdfast.record.layout import (
    BACKFILLS,
    BATCHES,
    INPUTS,
    SNAPSHOTS,
    check_stream_name,
    contract_path,
    generation_name,
    record_location,
    run_path,
)
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_KEPT = {
    INPUTS: "Which files each batch has read: without it a checkpoint cannot be given back.",
    BACKFILLS: "Which ranges were loaded beside the stream: the table holds their rows too.",
    BATCHES: "The rows of a batch that one sink may hold and another one lack: both get the same.",
}
_COPY = "The copy is removed, if nothing has used it."


def _target(flag: str, metavar: str, help_text: str, *, keyword: str) -> Option:
    return Option(
        flag=flag,
        field="target",
        keyword=keyword,
        metavar=metavar,
        is_required=True,
        help=help_text,
    )


@goal(
    "snapshot",
    "Keep a named copy of a checkpoint.",
    _target("--name", "NAME", "The snapshot's name.", keyword="name"),
    copies=True,
)
def plan_snapshot(asked: GoalCase) -> Plan | NoPlan:
    """Copy a checkpoint under a name, and compare the copy."""
    now, name = asked.now, asked.request.target
    if not _NAME.fullmatch(name):
        return NoPlan(reason="The name of a snapshot is lower-case letters, digits and hyphens.")
    target = now.record.location.join(SNAPSHOTS, name)
    if open_reader(target, now.options).list().files:
        return NoPlan(reason=f"{now.stream} has a snapshot {name} already.")
    step = copy_checkpoint(
        now, target, leaves_out=(), why="Every file of the checkpoint, compared."
    )
    shown = f"snapshot {name}: batch {now.case.newest_committed}, {step.files:,} files"
    heading = Heading(
        goal="snapshot",
        summary=f"Keep a copy of {now.stream} as {name}.",
        undo=_COPY,
        afterwards=_going_back(now, target, name),
    )
    part = Part(steps=(step,), impact=Impact(stream=now.stream, position=shown))
    return put_together(heading, (now,), (part,), plan_id=new_plan_id())


def _going_back(now: StreamNow, target: Location, name: str) -> tuple[str, ...]:
    if now.guard is None:
        return (f"The copy is in {target}; without a record it is put back by hand.",)
    return (f"holdfast plan restore {named(now)} --snapshot {name}",)


@goal(
    "clone",
    "Copy a stream under a new name and identity.",
    _target("--as", "NAME", "The new stream's name.", keyword="name"),
    copies=True,
)
def plan_clone(asked: GoalCase) -> Plan | NoPlan:
    """Copy a stream's checkpoint under a new name, so that new code can run beside it."""
    now, name = asked.now, asked.request.target
    check_stream_name(name)
    target = now.root.join(name)
    record = record_location(now.root, name)
    if _is_taken(now, target, record):
        return NoPlan(reason=f"{now.root} has a stream {name} already.")
    query_id = str(uuid.uuid4())
    opened = Generation(
        number=1,
        checkpoint=str(target),
        query_id=query_id,
        first_batch=now.case.newest_committed + 1,
        why=CLONED,
        opened_at=clock.now().isoformat(timespec="seconds"),
        began=_reached(now),
    )
    steps: tuple[Step, ...] = (
        *_checkpoint(now, target, name, leaves_out=_METADATA),
        _put(name, target, METADATA, content=metadata_file(query_id)),
        _put(name, record, opened.path, content=encode(opened).decode()),
    )
    heading = Heading(
        goal="clone",
        summary=f"Copy {now.stream} as {name}, with an identity of its own.",
        undo=_COPY,
        afterwards=(f"Start {name} with sinks of its own.", *_whole_log(now)),
    )
    shown = f"{name} goes on with batch {now.case.newest_committed + 1}, into sinks of its own"
    part = Part(steps=steps, impact=Impact(stream=now.stream, position=shown))
    return put_together(heading, (now,), (part,), plan_id=new_plan_id())


def _whole_log(now: StreamNow) -> Iterator[str]:
    """Yield what Spark's file sink needs: a log that begins with batch 0 (HF728)."""
    for each in now.directories:
        if each.output.has_log:
            yield (
                "Spark's file sink does not go on in an empty directory, because its log needs "
                f"every batch: give it a whole copy of {each.location}, with its _spark_metadata."
            )


@goal(
    "move",
    "Move a stream to another root.",
    _target("--to", "ROOT", "The new root.", keyword="to"),
    copies=True,
)
def plan_move(asked: GoalCase) -> Plan | NoPlan:
    """Move a stream, with its record, to another root; the old one is left as it is."""
    now, root = asked.now, parse_location(asked.request.target)
    if now.is_plain:
        return _move_plain(now, root)
    guard = now.guard
    if guard is None or guard.contract is None or guard.run is None:
        return NoPlan(reason=f"{now.stream} has no record of a guarded run: copy it by hand.")
    if any(sink.unreadable or sink.row is None for sink in now.sinks):
        return NoPlan(reason=f"A ledger of {now.stream} cannot be read, so it cannot follow.")
    place = root.join(generation_name(now.stream, guard.generation.number))
    record = record_location(root, now.stream)
    if _is_taken(now, place, record):
        return NoPlan(reason=f"{root} has a stream {now.stream} already.")
    steps = (
        *_checkpoint(now, place, now.stream),
        *_kept(now, record),
        *_record(now, record, place),
        *_rebind(now, place),
    )
    heading = Heading(
        goal="move",
        summary=f"Move {now.stream} to {root}.",
        undo="The ledger rows, and the copies are removed, if nothing has used them.",
        afterwards=(f'Start the stream with root="{root}". The old place is never used again.',),
    )
    shown = f"goes on with batch {now.case.newest_committed + 1} in {place}"
    impact = Impact(stream=now.stream, position=shown)
    part = Part(steps=steps, impact=impact, roots=(str(root),))
    return put_together(heading, (now,), (part,), plan_id=new_plan_id())


def _move_plain(now: StreamNow, root: Location) -> Plan | NoPlan:
    """Copy a plain checkpoint, and hold its old place: a program that still names it fails."""
    place = root.join(now.checkpoint.location.name)
    if _is_taken(now, place, record_location(root, now.stream)):
        return NoPlan(reason=f"There are files at {place} already.")
    plan_id = new_plan_id()
    part = hold_old_place(now, _checkpoint(now, place, now.stream), plan_id=plan_id)
    heading = Heading(
        goal="move",
        summary=f"Move {now.stream}, which Holdfast does not guard, to {place}.",
        undo="The checkpoint in its old place, and the copy is removed, if nothing has used it.",
        afterwards=(f"Set checkpointLocation to {place} in the program, then start it.",),
    )
    moved = replace(part, roots=(str(root),))
    return put_together(heading, (now,), (moved,), plan_id=plan_id)


def _is_taken(now: StreamNow, checkpoint: Location, record: Location) -> bool:
    """Return whether a stream is there; leases alone are left by a copy that was taken back."""
    files = open_reader(checkpoint, now.options).walk_page("").files
    return bool(files) or newest_generation(open_reader(record, now.options)) > 0


_METADATA = (METADATA, f".{METADATA}.crc")


def _checkpoint(
    now: StreamNow, target: Location, stream: str, *, leaves_out: tuple[str, ...] = ()
) -> Iterator[Step]:
    """Yield the copy of a checkpoint, which names its new place where it named the old one."""
    moved = relocate(now.checkpoint, target)
    left_out = (*leaves_out, *moved, *map(sidecar_of, moved))
    yield copy_checkpoint(
        now, target, leaves_out=left_out, why="The checkpoint; the old one stays."
    )
    for path, content in moved.items():
        why = "It names the schema files of the state by their place."
        yield PutFile(stream=stream, place=str(target), path=path, content=content, why=why)


def _put(stream: str, place: Location, path: str, *, content: str) -> PutFile:
    why = "It gives the copy an identity of its own."
    return PutFile(stream=stream, place=str(place), path=path, content=content, why=why)


def _reached(now: StreamNow) -> str:
    """Return where the newest committed batch ended; empty when there is none, or it is unknown."""
    newest = now.case.newest_committed
    covered = read_coverage(now.checkpoint, BatchId(newest)) if newest >= 0 else None
    return covered.end_offsets if isinstance(covered, Coverage) else ""


def _kept(now: StreamNow, record: Location) -> Iterator[Step]:
    """Yield the copies of what the record keeps of the batches themselves."""
    for directory, why in _KEPT.items():
        files = list_files(SubdirReader(now.record, directory))
        if files.count:
            source = str(now.record.location.join(directory))
            yield copy_tree(now.stream, source, str(record.join(directory)), files=files, why=why)


def _record(now: StreamNow, record: Location, place: Location) -> Iterator[Step]:
    """Yield the record of the stream in its new root: generations, the last run, its contract."""
    guard = now.guard
    assert guard is not None
    assert guard.run is not None
    for each in read_generations(now.record):
        moved = each
        if each.checkpoint == guard.generation.checkpoint:  # an undone one has that of an older one
            moved = msgspec.structs.replace(each, checkpoint=str(place))
        if each.number == guard.generation.number:
            moved = msgspec.structs.replace(moved, why=MOVED, was=each.opened_as)
        yield _put(now.stream, record, each.path, content=encode(moved).decode())
    for path in (run_path(guard.run.epoch, guard.run.run_id), contract_path(guard.run.contract)):
        raw = now.record.read(path)
        if raw is not None:
            yield _put(now.stream, record, path, content=raw.decode())


def _rebind(now: StreamNow, place: Location) -> Iterator[Step]:
    for sink in now.sinks:
        row = sink.row
        assert row is not None
        binding = Binding(query_id=QueryId(row.binding.query_id), checkpoint=str(place))
        why = "The sink takes batches of the checkpoint in its new place, and of no other."
        yield settle_sink(now, sink, dataclasses.replace(row, binding=binding), why=why)
