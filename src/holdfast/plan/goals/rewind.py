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
from holdfast.ledger.output import Output
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.plan.draft import (
    Heading,
    Part,
    copy_checkpoint,
    kept_table,
    new_plan_id,
    put_generation,
    put_together,
    sidecar_of,
)
from holdfast.plan.goals.cut import Cut, cut_at
from holdfast.plan.goals.ledger_rows import newest_rows
from holdfast.plan.goals.put_back import (
    RESTORE,
    needs_of,
    repeats_unseen,
    reset_below,
    say_put_back,
    settle_back,
)
from holdfast.plan.goals.refusals import refuse_locked
from holdfast.plan.goals.relocate import relocate
from holdfast.plan.plan_file import Impact, NoPlan, Plan
from holdfast.plan.steps import PutFile, SettleSink, Step, row_value
from holdfast.plan.world import SinkNow, StreamNow, at_snapshot
from holdfast.record.generations import REWOUND, Generation, read_generations
from holdfast.record.layout import SNAPSHOTS, checkpoint_location
from holdfast.storage.location import Location
from holdfast.storage.open import open_reader


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
    if now.guard is None:
        return NoPlan(
            reason=f"{now.stream} has no record of a guarded run, so no new generation can begin. "
            f"Stop the query, and copy the files of {place} over the checkpoint."
        )
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
        outputs.append(say_put_back(sink, settled, f"batch {batch}"))
        if sink.row is None or sink.row.last_batch != batch:  # else it holds nothing of later ones
            needs += needs_of(now, sink, settled, rows="later batches")
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


def _opening(now: StreamNow, cut: Cut, row: LedgerRow) -> PutFile:
    assert now.guard is not None
    opened = Generation(
        number=row.generation,
        checkpoint=row.binding.checkpoint,
        query_id=row.binding.query_id,
        first_batch=cut.batch + 1,
        why=REWOUND,
        opened_at=clock.now().isoformat(timespec="seconds"),
        began=now.guard.generation.began,
    )
    why = f"From here on {now.stream} is in generation {row.generation}."
    return put_generation(now, opened, why=why)


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
