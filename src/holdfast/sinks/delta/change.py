"""Whether a Delta table is still as a stream has left it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.ledger.delta import DeltaLedger, Standing


def find_change(
    ledger: DeltaLedger, standing: Standing | None, *, table_id: str | None
) -> str | None:
    """Say what shows that the table does not hold what its ledger row says; None if nothing does.

    Args:
        ledger: Of the stream.
        standing: What it has read last; None when there is no table.
        table_id: Of the table that the start has found.
    """
    if standing is None or standing.is_gone:
        return "it was deleted, or replaced by another table"
    if standing.table_id not in (None, table_id):
        return "it is another table: its id differs from the one in the ledger row"
    by = standing.replaced_by
    if by is not None:
        return f"version {by.version} of it ({by.operation}) took out what was there"
    lost = ledger.lost_fence()
    if lost is not None:
        return f"version {lost} of its log was replaced: a batch may be in it twice"
    return None
