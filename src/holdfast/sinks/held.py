"""What a sink holds at one moment: its ledger row, and its rows as of the same moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.ledger.row import LedgerRow

Change = Callable[[Any], Any]
"""From a DataFrame to another."""


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
    left_out: tuple[str, ...] = ()
    """The stream's columns that are not compared, each with the reason."""
    doubts: tuple[str, ...] = ()
    """Why the sink may rightly hold other rows than `newest` gives."""
