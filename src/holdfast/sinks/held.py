"""What a sink holds at one moment: its ledger row, and its rows as of the same moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.ledger.row import LedgerRow

Change = Callable[[Any], Any]
"""From a DataFrame to another."""
BEYOND = "__holdfast_beyond"
"""A column that `rows` may have more: values that no column of the stream can hold, as JSON by the
name of their column. NULL in every row that the stream has given."""


def no_row(_: str) -> LedgerRow | None:
    """Return that the ledger has no row of any other stream."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a sink holds of a stream; to be compared with what it must hold."""

    row: LedgerRow | None
    """None when the ledger has none."""
    rows: Any
    """A DataFrame of all rows of the table, with the columns that `comparable` gives."""
    newest: Change
    """From all rows that the stream has given to those that the sink keeps of them."""
    comparable: Change
    """From these to columns of the types that `rows` has."""
    ties: str = ""
    """Why the sink may keep another row than `newest` gives where two have one key and one order
    value; empty when it keeps the same."""
    row_of: Callable[[str], LedgerRow | None] = no_row
    """The ledger row of another stream, as of the same moment: a backfill of this one."""
    others: tuple[str, ...] = ()
    """Other streams that have written into the table, backfills among them."""
