"""reset: a new generation, from a named position, into a named output; downstream too.

In the order that loses nothing: the new checkpoint is written beside the old one, then the
generation is opened, then every output is settled in the step that fences it; the next stream in
the order of the data follows. The old generation stays as it is until `prune`.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.checkpoint.text import canonical
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.output import EmptyOutput, KeepOutput, Output
from holdfast.ledger.row import LedgerRow
from holdfast.plan.draft import (
    Draft,
    Heading,
    Part,
    new_plan_id,
    next_row,
    put_together,
)
from holdfast.plan.entries import commit_file, metadata_file, metadata_like, offset_file
from holdfast.plan.goal import GoalCase, Option, goal
from holdfast.plan.goals.ends import find_ends
from holdfast.plan.goals.outputs import CASCADE, OutputChoice, ResetRequest, not_read_again
from holdfast.plan.goals.plain_reset import plan_plain_reset
from holdfast.plan.goals.position import FRESH, Position, find_position
from holdfast.plan.goals.prove_next import say_proof
from holdfast.plan.goals.refusals import refuse_reset, refuse_shared
from holdfast.plan.plan_file import Change, Need, NoPlan, Plan
from holdfast.plan.preconditions import ListingIs, fingerprint
from holdfast.plan.steps import Permission
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.record.generations import RESET
from holdfast.record.input_files import InputFile, encode_input_files, input_log_path
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage

_FENCE = "Settling the output is the fence: no driver of an older generation writes to it."


@goal(
    "reset",
    "Begin a new generation, from a named position.",
    Option(
        flag="--from",
        field="start",
        metavar="earliest|here|OFFSETS",
        is_required=True,
        help="Where it begins: the oldest record, where the sinks end, or Kafka offsets as JSON.",
    ),
    Option(
        flag="--output",
        field="output",
        choices=tuple(OutputChoice),
        is_required=True,
        help="What becomes of the rows that the sinks hold.",
    ),
    Option(
        flag="--output-of",
        field="outputs",
        metavar="STREAM/SINK=OUTPUT",
        choices=tuple(OutputChoice),
        help="The same for one sink. Can be repeated.",
    ),
    CASCADE,
    changes_output=True,
)
def plan_reset(asked: GoalCase) -> Plan | NoPlan:
    """Begin a new generation of a stream; the old checkpoint stays until `holdfast plan prune`."""
    streams, request = (asked.now, *asked.below), ResetRequest.of_request(asked.request)
    if asked.now.is_plain:
        return plan_plain_reset(streams, request)
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
    found = _new_checkpoint(now, position)
    if isinstance(found, NoPlan):
        return found
    files, row = found
    settled = [
        (sink, request.of(now.stream, sink.contract.label), number)
        for number, sink in enumerate(now.sinks, start=1)
    ]
    changes = (*position.changes, *_never_again(settled, position))
    draft = Draft(now=now, plan_id=plan_id, needs=[*_change_needs(now, changes)])
    _open(draft, files, row, inputs=position.inputs, kept=_kept(now, settled))
    for sink, choice, number in settled:
        if choice is OutputChoice.TRUNCATE and sink.others:
            return refuse_shared(sink)
        output = _output(sink, choice, draft.aside(number))
        if output is not None and (sink.row is not None or sink.table is not None):
            draft.settle(sink, row, output, why=_FENCE)
        draft.outputs.append(_say_output(sink, choice))
        draft.needs += _output_needs(now, sink, choice, position=position)
    empty = ListingIs(
        stream=now.stream,
        place=row.binding.checkpoint,
        directory=OFFSETS,
        fingerprint=fingerprint(()),
    )
    before = (*position.preconditions, empty)
    return draft.part(position.shown, changes=changes, preconditions=before)


def _new_checkpoint(
    now: StreamNow, position: Position
) -> tuple[dict[str, str], LedgerRow] | NoPlan:
    """Return the files of the next checkpoint, with the starting position, and its ledger rows."""
    query_id = str(uuid.uuid4())
    files = {METADATA: metadata_file(query_id), **position.files}
    if position.offsets is None:
        return files, next_row(now, query_id)
    line = metadata_like(None, now_ms=int(clock.now().timestamp() * 1000))
    files[f"{OFFSETS}/0"] = offset_file(position.offsets, line, sources=now.source_count)
    files[f"{COMMITS}/0"] = commit_file()
    covered = read_coverage(_in_memory(files), BatchId(0))
    if isinstance(covered, Unparsed):
        return NoPlan(reason=f"{covered.path}: {covered.reason}.")
    return files, next_row(now, query_id, batch=0, covered=covered)


def _in_memory(files: dict[str, str]) -> MemoryStorage:
    return MemoryStorage({path: content.encode() for path, content in files.items()})


def _open(
    draft: Draft,
    files: dict[str, str],
    row: LedgerRow,
    *,
    inputs: Mapping[str, Sequence[InputFile]],
    kept: dict[str, str],
) -> None:
    """Add the new checkpoint, what the record keeps of it, and the generation."""
    number = row.generation
    why = f"The checkpoint of generation {number}: it says where the stream begins."
    draft.put(parse_location(row.binding.checkpoint), files, why=why)
    if content := encode_input_files(inputs):  # as the record does of every batch
        why = "Which files were read before: without it a checkpoint cannot be given back."
        place = draft.now.record.location
        draft.put(place, {input_log_path(number, 0): content.decode()}, why=why)
    draft.open_generation(
        row,
        made=RESET,
        began="" if row.end_offsets == NOTHING_READ else row.end_offsets,
        kept=kept,
        why=f"From here on {draft.now.stream} is in generation {number}; the old checkpoint stays.",
    )


def _kept(now: StreamNow, settled: list[tuple[SinkNow, OutputChoice, int]]) -> dict[str, str]:
    """Return up to where each sink that keeps its rows holds the stream.

    One that has lost its ledger row holds what Spark has committed.
    """
    kept: dict[str, str] = {}
    ends = find_ends(now)
    for sink, choice, _ in settled:
        if choice is not OutputChoice.KEEP:
            continue
        if sink.row is not None:
            kept[sink.row.sink] = sink.row.end_offsets
        elif sink.table is not None and ends:
            kept[sink.contract.label] = canonical(ends)
    return kept


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
            return f"{sink.display_name} is emptied{rows}; {kept}"
        case OutputChoice.KEEP:
            return f"{sink.display_name} keeps its rows{rows}"
        case OutputChoice.NEW_TABLE:
            return f"{sink.display_name} is left alone{rows}: name another table in the code"


def _never_again(
    settled: list[tuple[SinkNow, OutputChoice, int]], position: Position
) -> Iterator[Change]:
    """Yield the rows that a sink loses, or a new one never gets: they are not read again."""
    for sink, choice, _ in settled:
        if position.is_whole or choice is OutputChoice.KEEP:
            continue
        yield not_read_again(sink.display_name, sink.rows)


def _change_needs(now: StreamNow, changes: tuple[Change, ...]) -> Iterator[Need]:
    for change in changes:
        if change.kind in ("loses", "skips"):
            why = f"{now.stream}: {change.what}."
            yield Need(permission=Permission.SKIPS_DATA, stream=now.stream, why=why)


def _output_needs(
    now: StreamNow, sink: SinkNow, choice: OutputChoice, *, position: Position
) -> Iterator[Need]:
    if choice is OutputChoice.TRUNCATE:
        why = f"{sink.display_name} is emptied."
        yield Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why)
    elif choice is OutputChoice.KEEP and position.rereads and not sink.contract.keys:
        why = f"{sink.display_name} keeps its rows, and gets those again that are read again."
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)
    elif choice is OutputChoice.KEEP and _may_hold_planned(now, sink):
        why = (
            f"{sink.display_name} has no ledger row: it can hold batch {now.case.newest_planned}, "
            "which Spark has not committed, and gets it again."
        )
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)


def _may_hold_planned(now: StreamNow, sink: SinkNow) -> bool:
    """Return whether only a ledger row that is gone says if an appended sink holds a batch."""
    is_planned = now.case.newest_planned > now.case.newest_committed
    return is_planned and sink.row is None and sink.table is not None and not sink.contract.keys
