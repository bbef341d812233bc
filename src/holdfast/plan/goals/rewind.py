"""rewind: go back to an earlier batch, in a new generation on a copy of the checkpoint.

The old checkpoint stays as it is. The copy has nothing of later batches, so Spark plans them again.
Every sink goes back to the batch in the step that fences it, where the sink has older versions.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace

from holdfast import clock
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.ids import QueryId
from holdfast.ledger.output import KeepOutput, Output, RestoreOutput
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.plan.draft import Heading, Part, kept_table, new_plan_id, put_together
from holdfast.plan.goals.cut import Cut, cut_at
from holdfast.plan.goals.position import FRESH, find_position
from holdfast.plan.goals.refusals import refuse_locked, refuse_shared
from holdfast.plan.goals.reset import OutputChoice, ResetRequest, reset_part
from holdfast.plan.plan_file import Impact, Need, NoPlan, Plan
from holdfast.plan.steps import CopyTree, Permission, PutFile, SettleSink, Step, row_value
from holdfast.plan.trees import list_files
from holdfast.plan.world import SinkNow, StreamNow, at_snapshot
from holdfast.record.documents import encode
from holdfast.record.generations import REWOUND, Generation, read_generations
from holdfast.record.layout import SNAPSHOTS, checkpoint_location
from holdfast.storage.location import Location
from holdfast.storage.open import open_reader

RESTORE, KEEP = "restore", "keep"


def plan_rewind(
    now: StreamNow, below: tuple[StreamNow, ...], *, batch: int, output: str
) -> Plan | NoPlan:
    """Return the plan that goes back to a batch.

    Args:
        now: The stream, as it is now.
        below: The streams that read its output, in the order of the data; they are reset.
        batch: The last batch that stays.
        output: `restore` the sinks to that batch, or `keep` what they hold.
    """
    return _plan(now, below, batch=batch, output=output)


def plan_restore(now: StreamNow, below: tuple[StreamNow, ...], *, name: str) -> Plan | NoPlan:
    """Return the plan that goes back to a snapshot, and the sinks to its last batch."""
    place = now.record.location.join(SNAPSHOTS, name)
    if not open_reader(place, now.options).list().files:
        return NoPlan(reason=f"{now.stream} has no snapshot {name}.")
    kept = at_snapshot(now, place)
    if not _is_of_this_life(now, kept):
        return NoPlan(
            reason=f"The snapshot {name} is of an earlier generation of {now.stream}: its sinks "
            "hold other batches under the same numbers by now. Take back what began the new "
            "generation with `holdfast undo`, then restore."
        )
    return _plan(kept, below, batch=kept.case.newest_committed, output=RESTORE)


def _is_of_this_life(now: StreamNow, kept: StreamNow) -> bool:
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


def _plan(
    now: StreamNow, below: tuple[StreamNow, ...], *, batch: int, output: str
) -> Plan | NoPlan:
    plan_id = new_plan_id()
    refused = refuse_locked(now) or now.refuse_unreadable()
    if now.guard is None or refused is not None:
        return refused or NoPlan(reason=f"{now.stream} has no record of a guarded run.")
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
        afterwards=("Start the stream.",),
    )
    return put_together(heading, (now, *below), (part, *parts), plan_id=plan_id)


def reset_below(below: tuple[StreamNow, ...], *, plan_id: str) -> tuple[Part, ...] | NoPlan:
    """Return the resets of streams that read an output which goes back."""
    asked = ResetRequest(start=FRESH, output=OutputChoice.TRUNCATE, outputs={})
    parts: list[Part] = []
    for each in below:
        position = find_position(each, FRESH)
        if isinstance(position, NoPlan):
            return position
        found = reset_part(each, position, asked, plan_id=plan_id)
        if isinstance(found, NoPlan):
            return found
        parts.append(found)
    return tuple(parts)


def _part(now: StreamNow, *, batch: int, output: str, plan_id: str) -> Part | NoPlan:
    query_id = str(uuid.uuid4())
    cut = cut_at(now, batch, query_id=query_id)
    if isinstance(cut, NoPlan):
        return cut
    number = now.generation + 1
    target = checkpoint_location(now.root, now.stream, number)
    row = _row(now, cut, target=target, query_id=query_id)
    steps: list[Step] = [*copy_cut(now, cut, target), _opening(now, cut, row)]
    outputs: list[str] = []
    needs = list(repeats_unseen(now, f"batches after {batch}"))
    for at, sink in enumerate(now.sinks, start=1):
        aside = kept_table(plan_id, now.stream, at)
        settled = settle_back(sink, now.stream, batch=batch, output=output, aside=aside)
        if isinstance(settled, NoPlan):
            return settled
        if sink.row is not None:
            steps.append(_settling(now, sink, row, output=settled))
        outputs.append(_say(sink, settled, batch))
        if sink.row is None or sink.row.last_batch != batch:  # else it holds nothing of later ones
            needs += _needs(now, sink, settled)
    impact = Impact(
        stream=now.stream,
        position=f"goes on with batch {batch + 1}, which Spark plans again",
        outputs=tuple(outputs),
    )
    return Part(steps=tuple(steps), impact=impact, needs=tuple(needs))


def _row(now: StreamNow, cut: Cut, *, target: Location, query_id: str) -> LedgerRow:
    return LedgerRow(
        stream=now.stream,
        sink="",
        generation=now.generation + 1,
        epoch=0,
        nonce="",
        binding=Binding(query_id=QueryId(query_id), checkpoint=str(target)),
        last_batch=cut.batch,
        digest=cut.covered.digest,
        end_offsets=cut.covered.end_offsets,
    )


def copy_cut(now: StreamNow, cut: Cut, target: Location) -> Iterator[Step]:
    """Yield the steps that make a checkpoint up to a batch in another place."""
    files = list_files(now.checkpoint, leaves_out=cut.leaves_out)
    yield CopyTree(
        stream=now.stream,
        source=now.place,
        target=str(target),
        fingerprint=files.fingerprint,
        files=files.count,
        size_bytes=files.size_bytes,
        leaves_out=cut.leaves_out,
        why=f"The checkpoint up to batch {cut.batch}; the old one stays.",
    )
    for path, content in cut.files.items():
        yield PutFile(
            stream=now.stream,
            place=str(target),
            path=path,
            content=content,
            why=f"As it is after batch {cut.batch}.",
        )


def _opening(now: StreamNow, cut: Cut, row: LedgerRow) -> PutFile:
    opened = Generation(
        number=row.generation,
        checkpoint=row.binding.checkpoint,
        query_id=row.binding.query_id,
        first_batch=cut.batch + 1,
        why=REWOUND,
        opened_at=clock.now().isoformat(timespec="seconds"),
    )
    return PutFile(
        stream=now.stream,
        place=str(now.record.location),
        path=opened.path,
        content=encode(opened).decode(),
        why=f"From here on {now.stream} is in generation {row.generation}.",
    )


def settle_back(
    sink: SinkNow, stream: str, *, batch: int, output: str, aside: str
) -> Output | NoPlan:
    """Return what becomes of a sink that goes back to a batch."""
    if sink.row is not None and sink.row.last_batch < batch:
        held = f"{sink.shown} holds batches of {stream} up to {sink.row.last_batch} only"
        return NoPlan(reason=f"{held}: what comes after them, up to batch {batch}, would be lost.")
    if output == KEEP or sink.contract.keys or sink.row is None or sink.row.last_batch == batch:
        # An upsert gets the same rows again, and ends the same.
        return KeepOutput()
    if sink.others:
        return refuse_shared(sink)
    version = sink.versions.get(batch)
    if version is None:
        return NoPlan(
            reason=f"{sink.shown} has no version of batch {batch} of {stream}, so its rows cannot "
            "be put back.",
            nearest=f"--output {KEEP}, with --allow repeats-data:{stream} when it is applied",
        )
    # Delta keeps older versions itself; elsewhere rows are copied into a table of this name.
    return RestoreOutput(kept=version, aside=sink.table or aside if sink.keeps_versions else aside)


def _settling(now: StreamNow, sink: SinkNow, row: LedgerRow, *, output: Output) -> SettleSink:
    assert sink.row is not None
    return SettleSink(
        stream=now.stream,
        sink=sink.contract,
        old=row_value(sink.row),
        new=row_value(replace(row, sink=sink.row.sink)),
        output=output,
        why="The sink goes back in the step that fences it.",
    )


def _say(sink: SinkNow, output: Output, batch: int) -> str:
    if isinstance(output, RestoreOutput):
        return f"{sink.shown} goes back to batch {batch} (its version {output.kept})"
    how = ": its keys take the same rows again" if sink.contract.keys else ""
    return f"{sink.shown} keeps its rows{how}"


def repeats_unseen(now: StreamNow, what: str) -> Iterator[Need]:
    """Yield the permission to write batches again to sinks that cannot tell them."""
    if now.sinks and not now.unseen:
        return
    which = f"The sinks {', '.join(now.unseen)} keep no ledger" if now.unseen else ""
    why = f"{which or f'The sinks of {now.stream} are not known'}, and get {what} again."
    yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)


def _needs(now: StreamNow, sink: SinkNow, output: Output) -> Iterator[Need]:
    if isinstance(output, RestoreOutput):
        why = f"{sink.shown} loses the rows of later batches."
        yield Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why)
    elif not sink.contract.keys:
        why = f"{sink.shown} keeps the rows of later batches, and gets them again."
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)
