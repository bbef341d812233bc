"""The step that brings a sink to a named state, and fences it in the same moment."""

from __future__ import annotations

from dataclasses import replace

from holdfast.apply.standing import Done, Moved, NotDone, Standing
from holdfast.errors import HoldfastError
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.plan.preconditions import LedgerIs
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


def change_sink(step: SettleSink, ledger: LedgerStore, lease: Lease, *, seen: str | None) -> None:
    """Carry a step out.

    Args:
        step: Which is not done.
        ledger: Of the sink.
        lease: Whose epoch the sink is fenced with.
        seen: What told the rows of the sink apart when the plan was made; None: not compared.

    Raises:
        SinkNotSettledError: The row is not the one that the plan names.
        HoldfastError: The sink refused.
    """
    found = ledger.read(step.stream)
    old = found if isinstance(found, LedgerRow) else None
    if old is not None and old.epoch > lease.epoch:  # a newer driver: this lease is lost
        raise SinkNotSettledError(step.stream, step.sink.label)
    # What the plan was made for is replaced, and nothing that came since: a batch, another plan.
    is_planned = not isinstance(found, Unreadable) and says_the_same(
        None if old is None else row_value(old), step.old
    )
    new = replace(ledger_row(step.stream, step.new), epoch=lease.epoch, nonce=lease.token)
    if not is_planned or not ledger.settle(old, new, step.output, seen=seen):
        raise SinkNotSettledError(step.stream, step.sink.label)


def fence_sink(planned: LedgerIs, ledger: LedgerStore, lease: Lease) -> str | None:
    """Let no older driver write to a sink; say what has come in before that, None if nothing has.

    A sink without a row has none that could write to it.

    Args:
        planned: The sink, with the ledger row that the plan was made for.
        ledger: Of the sink.
        lease: Of the stream: its epoch is the fence.
    """
    stream = planned.stream
    found = ledger.read(stream)
    if isinstance(found, LedgerRow):
        # None: this plan was cut short after a fence of the generation that it opens.
        fenced = ledger.hold(found, epoch=lease.epoch, nonce=lease.token)
        found = fenced or ledger.read(stream)
    value = row_value(found) if isinstance(found, LedgerRow) else None
    if value is not None and value.epoch > lease.epoch:
        return f"Another driver of {stream} has fenced {planned.sink.label} since."
    if says_the_same(value, planned.row):
        return None
    return f"The ledger row of {stream} in {planned.sink.label} {_how(value, planned.row)}."


def find_obstacle(step: SettleSink, ledger: LedgerStore) -> str | None:
    """Say why a sink would refuse a step that is not done; None if nothing shows that."""
    return ledger.find_obstacle(ledger_row(step.stream, step.new), step.output)
