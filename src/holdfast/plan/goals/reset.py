"""reset: a new generation, from a named position, into a named output; downstream too.

In the order that loses nothing: the new checkpoint is written beside the old one, then the
generation is opened, then every output is settled in the step that fences it; the next stream in
the order of the data follows. The old generation stays as it is until `prune`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.output import EmptyOutput, KeepOutput, Output
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.plan.draft import Heading, Part, kept_table, new_plan_id, put_generation, put_together
from holdfast.plan.entries import commit_file, metadata_file, metadata_like, offset_file
from holdfast.plan.goals.outputs import OutputChoice, ResetRequest
from holdfast.plan.goals.position import FRESH, Position, find_position
from holdfast.plan.goals.prove_next import say_proof
from holdfast.plan.goals.refusals import refuse_reset, refuse_shared
from holdfast.plan.plan_file import Change, Impact, Need, NoPlan, Plan
from holdfast.plan.preconditions import ListingIs, Precondition, fingerprint
from holdfast.plan.steps import Permission, PutFile, SettleSink, Step, row_value
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.record.generations import RESET, Generation
from holdfast.record.layout import checkpoint_location
from holdfast.record.read_files import encode_input_files, input_log_path
from holdfast.storage.location import Location
from holdfast.storage.memory import MemoryStorage


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGeneration:
    """The checkpoint that a stream gets, and what its ledger rows then say."""

    number: int
    place: Location
    query_id: str
    files: dict[str, str]
    row: LedgerRow
    """Of any sink; without its name."""


def plan_reset(streams: tuple[StreamNow, ...], request: ResetRequest) -> Plan | NoPlan:
    """Return the plan that begins a new generation of a stream, and of those that read it.

    Args:
        streams: The stream, and those downstream that are reset with it, in the order of the data.
        request: What was asked for.
    """
    plan_id = new_plan_id()
    parts: list[Part] = []
    for number, now in enumerate(streams):
        start = request.start if number == 0 else FRESH
        position = find_position(now, start)
        if isinstance(position, NoPlan):
            return position
        part = reset_part(now, position, request, plan_id=plan_id)
        if isinstance(part, NoPlan):
            return part
        parts.append(part)
    first = streams[0]
    shown = f"Reset of {first.stream} to generation {first.generation + 1}."
    if len(streams) > 1:
        shown = f"Reset of {len(streams)} streams, each to its next generation."
    heading = Heading(
        goal="reset",
        summary=shown,
        undo="Until `prune`: the checkpoints of before stay, and rows that were taken away are "
        "kept. Undoing opens one more generation, on the checkpoint of before.",
        afterwards=("Start the streams.", *say_proof(streams, request)),
    )
    return put_together(heading, streams, tuple(parts), plan_id=plan_id)


def reset_part(
    now: StreamNow, position: Position, request: ResetRequest, *, plan_id: str
) -> Part | NoPlan:
    """Return what a reset does to one stream."""
    refused = refuse_reset(now)
    if refused is not None:
        return refused
    new = _new_generation(now, position)
    if isinstance(new, NoPlan):
        return new
    settled = [
        (sink, request.of(now.stream, sink.contract.label), number)
        for number, sink in enumerate(now.sinks, start=1)
    ]
    steps: list[Step] = [*_checkpoint(now, new), *_inputs(now, new, position)]
    steps.append(_opening(now, new, _kept(settled)))
    changes = (*position.changes, *_never_again(settled, position))
    outputs, needs = [], list(_change_needs(now, changes))
    for sink, choice, number in settled:
        if choice is OutputChoice.TRUNCATE and sink.others:
            return refuse_shared(sink)
        kept = kept_table(plan_id, now.stream, number)
        steps += _settle(now, sink, new, output=_output(sink, choice, kept))
        outputs.append(_say_output(sink, choice))
        needs += _output_needs(now, sink, choice, position=position)
    impact = Impact(
        stream=now.stream,
        position=position.shown,
        outputs=tuple(outputs),
        changes=changes,
    )
    empty = ListingIs(
        stream=now.stream, place=str(new.place), directory=OFFSETS, fingerprint=fingerprint(())
    )
    before: tuple[Precondition, ...] = (*position.preconditions, empty)
    return Part(steps=tuple(steps), impact=impact, needs=tuple(needs), preconditions=before)


def _new_generation(now: StreamNow, position: Position) -> NewGeneration | NoPlan:
    """Return the checkpoint of the next generation, with the starting position in it."""
    number = now.generation + 1
    place = checkpoint_location(now.root, now.stream, number)
    query_id = str(uuid.uuid4())
    files = {METADATA: metadata_file(query_id), **position.files}
    row = LedgerRow(
        stream=now.stream,
        sink="",
        generation=number,
        epoch=0,
        nonce="",
        binding=Binding(query_id=QueryId(query_id), checkpoint=str(place)),
        last_batch=NO_BATCH,
        digest=None,
        end_offsets=NOTHING_READ,
    )
    if position.offsets is not None:
        line = metadata_like(None, now_ms=int(clock.now().timestamp() * 1000))
        files[f"{OFFSETS}/0"] = offset_file(position.offsets, line, sources=now.source_count)
        files[f"{COMMITS}/0"] = commit_file()
        covered = read_coverage(_in_memory(files), BatchId(0))
        if isinstance(covered, Unparsed):
            return NoPlan(reason=f"{covered.path}: {covered.reason}.")
        row = replace(
            row, last_batch=BatchId(0), digest=covered.digest, end_offsets=covered.end_offsets
        )
    return NewGeneration(number=number, place=place, query_id=query_id, files=files, row=row)


def _in_memory(files: dict[str, str]) -> MemoryStorage:
    return MemoryStorage({path: content.encode() for path, content in files.items()})


def _checkpoint(now: StreamNow, new: NewGeneration) -> Iterator[Step]:
    for path, content in new.files.items():
        yield PutFile(
            stream=now.stream,
            place=str(new.place),
            path=path,
            content=content,
            why=f"The checkpoint of generation {new.number}: it says where the stream begins.",
        )


def _inputs(now: StreamNow, new: NewGeneration, position: Position) -> Iterator[Step]:
    """Yield what the record keeps of the files before the position, as it does of every batch."""
    content = encode_input_files(position.inputs)
    if content:
        yield PutFile(
            stream=now.stream,
            place=str(now.record.location),
            path=input_log_path(new.number, 0),
            content=content.decode(),
            why="Which files were read before: without it a checkpoint cannot be given back.",
        )


def _kept(settled: list[tuple[SinkNow, OutputChoice, int]]) -> dict[str, str]:
    """Return up to where each sink that keeps its rows holds the stream."""
    return {
        sink.row.sink: sink.row.end_offsets
        for sink, choice, _ in settled
        if choice is OutputChoice.KEEP and sink.row is not None
    }


def _opening(now: StreamNow, new: NewGeneration, kept: dict[str, str]) -> PutFile:
    opened = Generation(
        number=new.number,
        checkpoint=str(new.place),
        query_id=new.query_id,
        first_batch=new.row.last_batch + 1,
        why=RESET,
        opened_at=clock.now().isoformat(timespec="seconds"),
        began="" if new.row.end_offsets == NOTHING_READ else new.row.end_offsets,
        kept=kept,
    )
    why = f"From here on {now.stream} is in generation {new.number}; the old checkpoint stays."
    return put_generation(now, opened, why=why)


def _settle(
    now: StreamNow, sink: SinkNow, new: NewGeneration, *, output: Output | None
) -> Iterator[Step]:
    if output is None or (sink.row is None and sink.table is None):
        return
    label = sink.contract.label if sink.row is None else sink.row.sink
    yield SettleSink(
        stream=now.stream,
        sink=sink.contract,
        old=None if sink.row is None else row_value(sink.row),
        new=row_value(replace(new.row, sink=label)),
        output=output,
        why="Settling the output is the fence: no driver of an older generation writes to it.",
    )


def _output(sink: SinkNow, choice: OutputChoice, kept: str) -> Output | None:
    """Return what becomes of a sink; None when it is left alone."""
    if choice is OutputChoice.NEW_TABLE:
        return None
    if choice is OutputChoice.KEEP:
        return KeepOutput()
    # Delta keeps older versions itself; elsewhere rows are copied into a table of this name.
    return EmptyOutput(kept=sink.table or "" if sink.keeps_versions else kept)


def _say_output(sink: SinkNow, choice: OutputChoice) -> str:
    rows = f" ({sink.rows:,} rows)" if sink.rows is not None else ""
    if sink.backfills:
        rows += f", with what {len(sink.backfills)} backfills of the stream have loaded"
    match choice:
        case OutputChoice.TRUNCATE:
            kept = (
                f"version {sink.table} is kept" if sink.keeps_versions else "they are copied aside"
            )
            return f"{sink.shown} is emptied{rows}; {kept}"
        case OutputChoice.KEEP:
            return f"{sink.shown} keeps its rows{rows}"
        case OutputChoice.NEW_TABLE:
            return f"{sink.shown} is left alone{rows}: name another table in the code"


def _never_again(
    settled: list[tuple[SinkNow, OutputChoice, int]], position: Position
) -> Iterator[Change]:
    """Yield the rows that a sink loses, or a new one never gets: they are not read again."""
    for sink, choice, _ in settled:
        if position.is_whole or choice is OutputChoice.KEEP:
            continue
        rows = "rows" if sink.rows is None else f"{sink.rows:,} rows"
        what = f"{rows} of {sink.shown} come from before the new generation: not read again"
        yield Change(kind="skips", what=what, amount=sink.rows)


def _change_needs(now: StreamNow, changes: tuple[Change, ...]) -> Iterator[Need]:
    for change in changes:
        if change.kind in ("loses", "skips"):
            why = f"{now.stream}: {change.what}."
            yield Need(permission=Permission.SKIPS_DATA, stream=now.stream, why=why)


def _output_needs(
    now: StreamNow, sink: SinkNow, choice: OutputChoice, *, position: Position
) -> Iterator[Need]:
    if choice is OutputChoice.TRUNCATE:
        why = f"{sink.shown} is emptied."
        yield Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why)
    elif choice is OutputChoice.KEEP and position.rereads and not sink.contract.keys:
        why = f"{sink.shown} keeps its rows, and gets those again that are read again."
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)
