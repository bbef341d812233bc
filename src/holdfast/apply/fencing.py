"""Who may write while a plan is applied: only the plan, by its leases and by the sinks' fences."""

from __future__ import annotations

from holdfast.apply.applying import Applying
from holdfast.apply.leases import Leases
from holdfast.apply.sink_steps import fence_sink
from holdfast.apply.standing import NotDone
from holdfast.plan.steps import SettleSink


def leases_of(applying: Applying) -> Leases:
    """Return the leases to take; a sink that cannot be changed from here fails before that."""
    plan = applying.plan
    for step in plan.steps:
        if isinstance(step, SettleSink):
            applying.stores.ledger(step.sink, writes=True)
    epochs: dict[str, int | None] = dict.fromkeys(plan.streams)
    for step in plan.steps:
        if isinstance(step, SettleSink):
            row = applying.stores.ledger(step.sink, writes=False).read(step.stream)
            epoch = getattr(row, "epoch", 0)
            epochs[step.stream] = max(epochs[step.stream] or 0, epoch)
    return Leases(applying.records(), epochs, tell=applying.telling.waiting)


def fence_sinks(applying: Applying, leases: Leases) -> tuple[str, ...]:
    """Let no driver commit to the sinks that the plan changes from here on.

    A driver that is paused, and resumes while the plan is applied, would commit one more batch to a
    sink that the plan has not come to yet.

    Returns:
        What a driver has committed in the same moment, one sentence each.
    """
    moved = []
    for step in applying.plan.steps:
        if isinstance(step, SettleSink) and isinstance(applying.look(step), NotDone):
            ledger = applying.stores.ledger(step.sink, writes=True)
            moved.append(fence_sink(step, ledger, leases.of(step.stream)))
    applying.stores.forget_ledgers()
    return tuple(dict.fromkeys(each for each in moved if each is not None))
