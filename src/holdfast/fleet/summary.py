"""Adds up a scan while its rows pass by: totals, the worst rows, and who owns them."""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest

from holdfast.fleet.rows import FleetRow, FleetTotals
from holdfast.judgement.judge import Verdict

KEPT = 20
"""Rows that a summary keeps, the worst ones."""


class FleetSummary:
    """Grows with the number of verdicts, not with the number of rows."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._verdicts: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self.worst: list[FleetRow] = []
        """The rows that need attention first."""

    def add(self, row: FleetRow) -> None:
        """Take one row."""
        self._counts["requests"] += row.requests
        self._counts["unchanged"] += row.judged_ms < row.seen_ms
        if not row.is_current:
            self._counts["replaced"] += 1
            return
        verdict = row.verdict if row.is_state_unread else row.so_far or row.verdict
        self._verdicts[verdict.value] += 1
        self._counts["state_unread"] += row.is_state_unread
        self._counts["unread"] += row.unread is not None
        if verdict is not Verdict.SAFE and not row.is_state_unread:
            self._keep(row)

    def _keep(self, row: FleetRow) -> None:
        if len(self.worst) < KEPT or row.urgency < self.worst[-1].urgency:
            self.worst = nsmallest(KEPT, [*self.worst, row], key=lambda each: each.urgency)

    def totals(self, *, directories: int, seconds: float) -> FleetTotals:
        """Return what the rows add up to.

        Args:
            directories: Those that were searched and are no checkpoints; each cost a request.
            seconds: How long the scan took.
        """
        return FleetTotals(
            checkpoints=self._verdicts.total(),
            verdicts=dict(self._verdicts),
            state_unread=self._counts["state_unread"],
            unread=self._counts["unread"],
            replaced=self._counts["replaced"],
            unchanged=self._counts["unchanged"],
            requests=self._counts["requests"] + directories,
            directories=directories,
            seconds=seconds,
        )
