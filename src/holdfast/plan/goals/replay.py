"""replay: run the last batch again, with its exact range, after the sinks were put back.

Without its commit entry Spark runs a batch again from its offset entry. The ledger rows go back by
one batch in the step that puts the sink back, so that the sinks take it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast.checkpoint.layout import COMMITS
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.overview import overview_of
from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.output import KeepOutput, RestoreOutput
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.plan.draft import (
    Heading,
    Part,
    kept_table,
    new_plan_id,
    put_together,
    remove_file,
)
from holdfast.plan.goals.resume import newest_rows
from holdfast.plan.goals.rewind import repeats_unseen, reset_below, settle_back
from holdfast.plan.plan_file import Impact, Need, NoPlan, Plan
from holdfast.plan.steps import Permission, RemoveFile, SettleSink, Step, row_value
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.storage.overlay import OverlayWriter


def plan_replay(now: StreamNow, below: tuple[StreamNow, ...], *, output: str) -> Plan | NoPlan:
    """Return the plan that runs the last batch again.

    Args:
        now: The stream, as it is now.
        below: The streams that read its output, in the order of the data; they are reset.
        output: `restore` the sinks to before the batch, or `keep` what they hold.
    """
    rows = newest_rows(now)
    if isinstance(rows, NoPlan):
        return rows
    planned, committed = now.case.newest_planned, now.case.newest_committed
    if planned < 0 or committed < planned:
        reason = f"Batch {planned} is pending: the next start runs it again by itself."
        return NoPlan(
            reason=reason if planned >= 0 else f"{now.stream} has run no batch.", is_fine=True
        )
    plan_id = new_plan_id()
    part = _part(now, planned, output=output, plan_id=plan_id)
    if isinstance(part, NoPlan):
        return part
    heading = Heading(
        goal="replay",
        summary=f"{now.stream} runs batch {planned} again, with the same range.",
        undo="The commit entry, the ledger rows and the rows of the sinks, as they were.",
        afterwards=("Start the stream as before.",),
    )
    parts = reset_below(below, plan_id=plan_id)
    if isinstance(parts, NoPlan):
        return parts
    return put_together(heading, (now, *below), (part, *parts), plan_id=plan_id)


def _part(now: StreamNow, batch: int, *, output: str, plan_id: str) -> Part | NoPlan:
    removed = tuple(remove_file(now, f"{COMMITS}/{batch}", why="Without it Spark runs it again."))
    if not _runs_again(now, removed, batch):
        return NoPlan(reason=f"Spark would not run batch {batch} again with its range.")
    before = _row_before(now, batch)
    if isinstance(before, NoPlan):
        return before
    steps: list[Step] = [*removed]
    outputs: list[str] = []
    needs: list[Need] = []
    for number, sink in enumerate(now.sinks, start=1):
        aside = kept_table(plan_id, now.stream, number)
        settled = settle_back(sink, now.stream, batch=batch - 1, output=output, aside=aside)
        if isinstance(settled, NoPlan):
            return settled
        steps += _settle(now, sink, before, settled=settled)
        outputs.append(_say(sink, settled, batch))
        needs += _needs(now, sink, settled, batch=batch)
    needs += repeats_unseen(now, f"batch {batch}")
    impact = Impact(
        stream=now.stream,
        position=f"runs batch {batch} again, with the same range",
        outputs=tuple(outputs),
    )
    return Part(steps=tuple(steps), impact=impact, needs=tuple(needs))


def _runs_again(now: StreamNow, removed: tuple[Step, ...], batch: int) -> bool:
    overlay = OverlayWriter(now.checkpoint)
    for step in removed:
        assert isinstance(step, RemoveFile)
        overlay.delete(step.path)
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
    now: StreamNow,
    sink: SinkNow,
    before: LedgerRow | None,
    *,
    settled: KeepOutput | RestoreOutput | object,
) -> Iterator[Step]:
    if sink.row is None or before is None or not isinstance(settled, KeepOutput | RestoreOutput):
        return
    yield SettleSink(
        stream=now.stream,
        sink=sink.contract,
        old=row_value(sink.row),
        new=row_value(replace(before, sink=sink.row.sink)),
        output=settled,
        why="The sink goes back by one batch, and takes it again.",
    )


def _say(sink: SinkNow, settled: object, batch: int) -> str:
    if isinstance(settled, RestoreOutput):
        return f"{sink.shown} goes back to before batch {batch} (its version {settled.kept})"
    how = ": its keys take the same rows again" if sink.contract.keys else ""
    return f"{sink.shown} keeps its rows{how}"


def _needs(now: StreamNow, sink: SinkNow, settled: object, *, batch: int) -> Iterator[Need]:
    if isinstance(settled, RestoreOutput):
        why = f"{sink.shown} loses the rows of batch {batch} until it has run again."
        yield Need(permission=Permission.DESTRUCTIVE, stream=now.stream, why=why)
    elif not sink.contract.keys:
        why = f"{sink.shown} keeps the rows of batch {batch}, and gets them again."
        yield Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=why)
