"""The step that brings a sink to a named state, and fences it in the same moment."""

from __future__ import annotations

from dataclasses import replace

from holdfast.apply.standing import Done, Moved, NotDone, Standing
from holdfast.errors import HoldfastError
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.plan.steps import RowValue, SettleSink, ledger_row, row_value, says_the_same
from holdfast.record.leases import Lease


class SinkNotSettledError(HoldfastError):
    """The ledger row is not the one that the plan names."""

    code = "SINK_NOT_SETTLED"

    def __init__(self, stream: str, sink: str) -> None:
        super().__init__(
            what=f"The sink {sink} of {stream} was not changed.",
            why="Its ledger row changed in the same moment: another driver writes to it.",
            how="Stop that driver, then continue.",
        )


def look_at_sink(step: SettleSink, ledger: LedgerStore) -> Standing:
    """Say how a sink stands to a step."""
    found = ledger.read(step.stream)
    if isinstance(found, Unreadable):
        return Moved(f"The ledger of {step.sink.label} cannot be read: {found.why}")
    value = None if found is None else row_value(found)
    if says_the_same(value, step.new):
        return Done()
    if says_the_same(value, step.old):
        return NotDone()
    return Moved(f"The ledger row of {step.stream} in {step.sink.label} {_how(value, step.old)}.")


def _how(found: RowValue | None, planned: RowValue | None) -> str:
    if found is None:
        return "is gone"
    if planned is None:
        return "was created"
    return f"stands at batch {found.last_batch}, and stood at batch {planned.last_batch}"


def change_sink(step: SettleSink, ledger: LedgerStore, lease: Lease) -> None:
    """Carry a step out.

    Raises:
        SinkNotSettledError: The row is not the one that the plan names.
        HoldfastError: The sink refused.
    """
    found = ledger.read(step.stream)
    old = found if isinstance(found, LedgerRow) else None
    new = replace(ledger_row(step.stream, step.new), epoch=lease.epoch, nonce=lease.token)
    if not ledger.settle(old, new, step.output):
        raise SinkNotSettledError(step.stream, step.sink.label)
