"""Who may write while a plan is applied: only the plan, by its leases and by the sinks' fences."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.apply.applying import PlanRun
from holdfast.apply.leases import Leases
from holdfast.apply.steps.kind import NotDone
from holdfast.apply.steps.sinks import fence_sink
from holdfast.errors import HoldfastError
from holdfast.ledger.row import LedgerRow
from holdfast.plan.plan_file import Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import SettleSink, WriteRange, is_generation


def leases_of(applying: PlanRun) -> Leases:
    """Return the leases to take; a sink that cannot be changed from here fails before that."""
    plan = applying.plan
    for step in plan.steps:
        if isinstance(step, SettleSink):
            applying.stores.ledger(step.sink, writes=True)
    epochs: dict[str, int | None] = dict.fromkeys(plan.streams)
    settled = [_as_planned(each) for each in plan.steps if isinstance(each, SettleSink)]
    written = [
        LedgerIs(stream=step.stream, sink=sink, row=None, table=None)
        for step in (*plan.steps, *applying.undone_ranges())
        if isinstance(step, WriteRange)
        for sink in step.sinks
    ]
    for each in (*settled, *written, *_left_alone(plan)):
        row = applying.stores.ledger(each.sink, writes=False).read(each.stream)
        if plan.undoes is not None and row is not None and each in written:
            applying.stores.ledger(each.sink, writes=True)
        epoch = getattr(row, "epoch", 0)
        epochs[each.stream] = max(epochs[each.stream] or 0, epoch)
    return Leases(applying.records(), epochs, tell=applying.telling.waiting)


def fence_sinks(applying: PlanRun, leases: Leases) -> tuple[str, ...]:
    """Let no driver commit to the sinks of the plan's streams from here on.

    A driver that is paused, and resumes while the plan is applied, would commit one more batch to a
    sink that the plan has not come to yet, or leaves alone.

    Returns:
        What a driver has committed in the same moment, one sentence each.
    """
    moved = []
    for step in applying.plan.steps:
        if isinstance(step, SettleSink) and isinstance(applying.look(step), NotDone):
            ledger = applying.stores.ledger(step.sink, writes=True)
            moved.append(fence_sink(_as_planned(step), ledger, leases.of(step.stream)))
    moved += [_fence_left(each, applying, leases) for each in _left_alone(applying.plan)]
    moved += _hold_undone(applying, leases)
    applying.stores.forget_ledgers()
    return tuple(dict.fromkeys(each for each in moved if each is not None))


def _hold_undone(applying: PlanRun, leases: Leases) -> Iterator[str]:
    """Let no driver write a range that is taken back; say which sinks have a part of it by now.

    A sink without a row has no driver that is past its fence, and the lease stops all others.
    """
    for step in applying.undone_ranges():
        for sink in step.sinks:
            row = applying.stores.ledger(sink, writes=False).read(step.stream)
            if row is None:
                continue
            held = None
            if isinstance(row, LedgerRow):
                lease, ledger = leases.of(step.stream), applying.stores.ledger(sink, writes=True)
                held = ledger.hold(row, epoch=lease.epoch, nonce=lease.token)
            if held is None or held.last_batch >= 0:
                yield f"{sink.label} holds rows of {step.stream} by now, or cannot be fenced."


def _as_planned(step: SettleSink) -> LedgerIs:
    return LedgerIs(stream=step.stream, sink=step.sink, row=step.old, table=None)


def _left_alone(plan: Plan) -> Iterator[LedgerIs]:
    """Yield the sinks that a stream leaves behind with its generation."""
    opened = {each.stream for each in plan.steps if is_generation(each)}
    settled = [(each.stream, each.sink) for each in plan.steps if isinstance(each, SettleSink)]
    seen = (each for each in plan.preconditions if isinstance(each, LedgerIs))
    for each in seen:
        is_left = each.stream in opened and (each.stream, each.sink) not in settled
        if is_left and each.row is not None:
            yield each


def _fence_left(left: LedgerIs, applying: PlanRun, leases: Leases) -> str | None:
    """Fence a sink that is left behind, if it can be written to from here."""
    try:
        ledger = applying.stores.ledger(left.sink, writes=True)
        return fence_sink(left, ledger, leases.of(left.stream))
    except HoldfastError:
        return None
