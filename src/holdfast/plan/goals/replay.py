"""replay: run the last batch or batches again, with their exact range, after the sinks went back.

Without its commit entry Spark runs a batch again from its offset entry. Spark does so for one batch
only: several are run as one, whose entry begins where the first of them did and ends where the last
one did. The ledger rows go back in the step that puts the sink back, so that the sinks take it.
What earlier runs of the batches have left is put aside: rows that were materialised for several
sinks, and the state that the batches have written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.overview import overview_of
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.output import Output
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.plan.draft import Draft, Heading, Part, new_plan_id, put_together, settle_sink
from holdfast.plan.entries import put_file, remove_file, remove_file_alone, sidecar_of
from holdfast.plan.goal import GoalCase, Option, goal
from holdfast.plan.goals.ledger_rows import newest_rows
from holdfast.plan.goals.nearest import go_back_instead
from holdfast.plan.goals.old_batches import forget_materialised, forget_state
from holdfast.plan.goals.outputs import CASCADE, restored_output
from holdfast.plan.goals.plain_back import plan_plain_replay
from holdfast.plan.goals.put_back import (
    needs_for_unledgered_sinks,
    needs_of,
    reset_below,
    rollback_output,
    say_put_back,
)
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import PutFile, RemoveFile, Step
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.record.generations import RESET
from holdfast.storage.overlay import OverlayWriter
from holdfast.wording import batch_range


@goal(
    "replay",
    "Run the last batch or batches again, with their exact range.",
    Option(
        flag="--batches",
        field="batches",
        least=1,
        help="How many of the last batches; several are run as one.",
    ),
    restored_output("before the batch"),
    CASCADE,
    changes_output=True,
    names_batches=True,
)
def plan_replay(asked: GoalCase) -> Plan | NoPlan:
    """Run the last batch or batches again, after the sinks were put back to before them."""
    now, batches = asked.now, asked.request.batches
    rows = newest_rows(now)
    if isinstance(rows, NoPlan):
        return rows
    planned, committed = now.case.newest_planned, now.case.newest_committed
    if planned < 0 or committed < planned:
        reason = f"Batch {planned} is pending: the next start runs it again by itself."
        return NoPlan(
            reason=reason if planned >= 0 else f"{now.stream} has run no batch.", is_fine=True
        )
    first = planned - batches + 1
    seeded = _seeded(now)
    if first < seeded:
        ran = planned + 1 - seeded
        return NoPlan(reason=f"{now.stream} has run {ran:,} batches, not {batches:,}.")
    return _of_plain(asked, first) if now.is_plain else _of_guarded(asked, first)


def _of_guarded(asked: GoalCase, first: int) -> Plan | NoPlan:
    now, below, plan_id = asked.now, asked.below, new_plan_id()
    part = _part(now, first, output=asked.request.output, plan_id=plan_id)
    if isinstance(part, NoPlan):
        return part
    heading = Heading(
        goal="replay",
        summary=f"{now.stream} {part.impact.position}.",
        undo="The entries, the ledger rows and the rows of the sinks, as they were.",
        afterwards=("Start the stream as before.",),
    )
    parts = reset_below(below, plan_id=plan_id)
    if isinstance(parts, NoPlan):
        return parts
    return put_together(heading, (now, *below), (part, *parts), plan_id=plan_id)


def _of_plain(asked: GoalCase, first: int) -> Plan | NoPlan:
    entries = _refuse_as_one(asked.now, first) or _one_entry(asked.now, first)
    if isinstance(entries, NoPlan):
        return entries
    return plan_plain_replay(
        asked.now, asked.below, first, entries=entries, output=asked.request.output
    )


def _seeded(now: StreamNow) -> int:
    """Return how many entries a reset has written itself: they stand for no batch that was run."""
    generation = None if now.guard is None else now.guard.generation
    return generation.first_batch if generation and generation.made_as == RESET else 0


def _part(now: StreamNow, first: int, *, output: str, plan_id: str) -> Part | NoPlan:
    """Return what a replay from a batch on does to one stream."""
    newest = now.case.newest_planned
    if first > 0 and BatchId(first - 1) not in now.case.checkpoint.commits:
        return NoPlan(
            reason=f"Where batch {first} began is not known: commits/{first - 1} is not there. A "
            "checkpoint that was given back from the ledgers has it only from its next batch on."
        )
    entries = _refuse_as_one(now, first) or _one_entry(now, first)
    if isinstance(entries, NoPlan):
        return entries
    before = _row_before(now, first)
    if isinstance(before, NoPlan):
        return before
    shown = batch_range(first, newest)
    how = "with the same range" if first == newest else "as one batch of exactly their range"
    draft = Draft(now=now, plan_id=plan_id, steps=[*entries, *forget_materialised(now, first)])
    for number, sink in enumerate(now.sinks, start=1):
        aside = draft.aside(number)
        settled = rollback_output(sink, now.stream, batch=first - 1, output=output, aside=aside)
        if isinstance(settled, NoPlan):
            return settled
        draft.steps += _settle(now, sink, before, output=settled)
        draft.outputs.append(say_put_back(sink, settled, f"before batch {first}"))
        draft.needs += needs_of(now, sink, settled, rows=shown)
    draft.needs += needs_for_unledgered_sinks(now, shown)
    return draft.part(f"runs {shown} again, {how}")


def _one_entry(now: StreamNow, first: int) -> tuple[Step, ...] | NoPlan:
    """Return the steps on the logs after which Spark runs the range of several batches as one."""
    newest = now.case.newest_planned
    steps: list[Step] = []
    if first < newest:
        merged = _merge(now, first)
        if isinstance(merged, NoPlan):
            return merged
        steps += remove_file_alone(now, sidecar_of(merged.path), why="It is of another content.")
        steps.append(merged)
    for batch in range(newest, first, -1):
        why = f"Its range is in offsets/{first} now."
        steps += remove_file(now, f"{OFFSETS}/{batch}", why=why)
    for batch in range(newest, first - 1, -1):
        why = "Without it Spark runs the batch again."
        steps += remove_file(now, f"{COMMITS}/{batch}", why=why)
    steps += forget_state(now, first) if now.is_stateful else ()
    if not _runs_again(now, steps, first):
        return NoPlan(reason=f"Spark would not run batch {first} again with its range.")
    return tuple(steps)


def _merge(now: StreamNow, first: int) -> PutFile | NoPlan:
    """Return the entry that has the watermark of the first batch and the ends of the last one."""
    newest, known = now.case.newest_planned, now.case.checkpoint.offsets
    gone = [
        at for at in range(first, newest) if not isinstance(known.get(BatchId(at)), OffsetEntry)
    ]
    if gone:
        return NoPlan(
            reason=f"offsets/{gone[0]} is not in the checkpoint, so its range is unknown."
        )
    old, last = (now.checkpoint.read(f"{OFFSETS}/{at}") for at in (first, newest))
    assert old is not None
    assert last is not None
    (version, metadata, *_), (other, _, *ends) = old.splitlines(), last.splitlines()
    if version != other:
        return NoPlan(reason=f"offsets/{first} and offsets/{newest} are of different versions.")
    return put_file(
        now,
        f"{OFFSETS}/{first}",
        b"\n".join((version, metadata, *ends)).decode(),
        why=f"One batch, which begins where batch {first} began and ends where {newest} ended.",
    )


def _refuse_as_one(now: StreamNow, first: int) -> NoPlan | None:
    """Refuse several batches whose rows, or state, depend on how they are cut into batches."""
    if first == now.case.newest_planned:
        return None
    nearest = go_back_instead(now, first - 1)
    if now.is_stateful:
        return NoPlan(
            reason=f"{now.stream} keeps state: of several batches run as one, the state would not "
            "be that of the same batches.",
            nearest=nearest,
        )
    for sink in now.sinks:
        if sink.contract.keys and sink.contract.sequence_by is None:
            return NoPlan(
                reason=f"{sink.display_name} merges by {', '.join(sink.contract.keys)} without "
                "sequence_by: of two rows with one key the row of the later batch stays. In one "
                "batch neither is later, and the batch would fail.",
                nearest=nearest,
            )
    return None


def _runs_again(now: StreamNow, steps: list[Step], batch: int) -> bool:
    overlay = OverlayWriter(now.checkpoint)
    for step in steps:
        if isinstance(step, RemoveFile):
            overlay.delete(step.path)
        elif isinstance(step, PutFile):
            overlay.put(step.path, step.content.encode())
    start = overview_of(collect(overlay)).next_start
    return isinstance(start, RunsAgain) and start.batch_id == batch


def _row_before(now: StreamNow, batch: int) -> LedgerRow | NoPlan | None:
    """Return what the ledger rows said before a batch; None when there are none."""
    row = next((sink.row for sink in now.sinks if sink.row is not None), None)
    if row is None:
        return None
    if batch == 0:
        return replace(row, last_batch=NO_BATCH, digest=None, end_offsets=NOTHING_READ)
    covered = read_coverage(now.checkpoint, BatchId(batch - 1))
    if isinstance(covered, Unparsed):
        return NoPlan(reason=f"{covered.path}: {covered.reason}.")
    return replace(
        row,
        last_batch=BatchId(batch - 1),
        digest=covered.digest,
        end_offsets=covered.end_offsets,
    )


def _settle(
    now: StreamNow, sink: SinkNow, before: LedgerRow | None, *, output: Output
) -> Iterator[Step]:
    if sink.row is None or before is None:
        return
    why = "The sink goes back to before the batch, and takes it again."
    yield settle_sink(now, sink, before, output=output, why=why)
