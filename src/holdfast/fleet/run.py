"""Runs a scan from its request to its answer: totals, the worst rows, and what concerns several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from holdfast.clock import monotonic
from holdfast.fleet.across import IDLE_DAYS, AcrossCheckpoints
from holdfast.fleet.files import write_rows
from holdfast.fleet.request import FleetWalk
from holdfast.fleet.rows import FleetFinding, FleetRow, FleetTotals
from holdfast.fleet.summary import FleetSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetScan:
    """What one scan found."""

    totals: FleetTotals
    worst: tuple[FleetRow, ...]
    """The rows that need attention first; the rest is in the file or in `rows`."""
    findings: tuple[FleetFinding, ...]
    """What only several checkpoints together show, and what was not searched."""
    rows: tuple[FleetRow, ...] = ()
    """Every row, if they were asked for; those that need attention first."""


class Scanner(Protocol):
    """Yields the rows of a fleet."""

    walk: FleetWalk

    def run(self) -> Iterator[FleetRow]:
        """Yield a row for every checkpoint."""


def run_scan(
    scanner: Scanner,
    *,
    to: Path | None = None,
    keeps_rows: bool = False,
    idle_days: int = IDLE_DAYS,
    tell: Callable[[int], None] = lambda _: None,
) -> FleetScan:
    """Scan, and add up what was found.

    Args:
        scanner: Of the locations.
        to: The file that the rows are written to.
        keeps_rows: Whether the answer has every row; without them memory stays small.
        idle_days: After how many days without a sign of life a checkpoint is named.
        tell: Called with the number of checkpoints so far.

    Raises:
        LocationError: A location is not one that Holdfast can read.
    """
    began = monotonic()
    rows: Iterable[FleetRow] = scanner.run()
    if to is not None:
        rows = write_rows(to, rows)
    summary, across, kept = FleetSummary(), AcrossCheckpoints(idle_days=idle_days), []
    for number, row in enumerate(rows, start=1):
        summary.add(row)
        across.add(row)
        if keeps_rows:
            kept.append(row)
        tell(number)
    seconds = round(monotonic() - began, 3)
    return FleetScan(
        totals=summary.totals(directories=scanner.walk.directories, seconds=seconds),
        worst=tuple(summary.worst),
        findings=(*across.findings(), *_not_searched(scanner.walk)),
        rows=tuple(sorted(kept, key=lambda row: row.urgency)),
    )


def _not_searched(walk: FleetWalk) -> Iterable[FleetFinding]:
    """Say where the depth limit ended the search."""
    if walk.first_too_deep is not None:
        yield FleetFinding(
            name="not-searched",
            sentence=f"{walk.too_deep:,} directories are deeper than the depth limit and were not "
            "searched: there may be checkpoints below them.",
            what_to_do="Raise --depth, or leave them out with --exclude.",
            locations=(walk.first_too_deep,),
            number=walk.too_deep,
        )
