"""What has really arrived: the ledger inside each sink, and whether a batch may be written."""

from __future__ import annotations

from holdfast.ledger.decide import Apply, Decision, Reason, Refuse, Skip, decide
from holdfast.ledger.row import NO_BATCH, Attempt, Binding, LedgerRow, advance

__all__ = [
    "NO_BATCH",
    "Apply",
    "Attempt",
    "Binding",
    "Decision",
    "LedgerRow",
    "Reason",
    "Refuse",
    "Skip",
    "advance",
    "decide",
]
