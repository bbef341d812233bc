"""The ledger rows of a stream, as far as they are of its current generation and checkpoint."""

from __future__ import annotations

from holdfast.ledger.row import LedgerRow
from holdfast.plan.goals.refusals import say_reset
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import StreamNow


def newest_rows(now: StreamNow) -> tuple[LedgerRow, ...] | NoPlan:
    """Return the ledger rows of a stream that belong to its checkpoint.

    They are what the data says; one that cannot be read, or is of another checkpoint, is no ground
    to build on.
    """
    for sink in now.sinks:
        if sink.unreadable:
            return NoPlan(
                reason=f"The ledger of {sink.display_name} cannot be read: {sink.unreadable}"
            )
    if now.is_plain:
        return ()  # its rows say what plans have done, not which batches there are
    rows = [sink.row for sink in now.sinks if sink.row is not None]
    guard = now.guard
    for row in rows:
        if guard is None or row.generation != guard.generation.number:
            return NoPlan(
                reason=f"The ledger row in {row.sink} is of generation {row.generation}.",
                nearest=say_reset(now),
            )
        if row.binding.checkpoint != guard.generation.checkpoint:
            return NoPlan(
                reason=f"The ledger row in {row.sink} is of the checkpoint "
                f"{row.binding.checkpoint}, and this one is {guard.generation.checkpoint}.",
                nearest=say_reset(now),
            )
    return tuple(rows)
