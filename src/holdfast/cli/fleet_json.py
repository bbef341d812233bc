"""`holdfast fleet scan --format json`: every row, in the form that has a version.

The schema is committed as docs/reference/fleet.schema.json.
"""

from __future__ import annotations

from holdfast.fleet.compare import FleetChange, FleetDiff, is_worse
from holdfast.fleet.rows import FleetFinding, FleetRow, FleetTotals
from holdfast.fleet.run import FleetScan
from holdfast.judgement.judge import ATTENTION, Verdict
from holdfast.report.envelope import Answer, fill, render


class FleetJson(Answer, kw_only=True, tag_field="format", tag="holdfast.fleet-scan"):
    """What `holdfast fleet scan` found; checkpoints that need attention come first.

    `verdict` is the gravest of all checkpoints, in the order in which people should look at them.
    """

    version: int = 1
    totals: FleetTotals
    findings: tuple[FleetFinding, ...]
    checkpoints: tuple[FleetRow, ...]


def fleet_json(found: FleetScan) -> str:
    """Return the text to print."""
    verdict = gravest(found.totals)
    return render(fill(FleetJson, found, version=1, verdict=verdict.value, checkpoints=found.rows))


class FleetDiffJson(Answer, kw_only=True, tag_field="format", tag="holdfast.fleet-diff"):
    """What `holdfast fleet diff` found; what got worse comes first.

    `verdict` is `worse` or `as-before`.
    """

    version: int = 1
    before_ms: int | None
    after_ms: int | None
    totals: dict[str, int]
    unchanged: int
    changes: tuple[FleetChange, ...]


AnyFleetJson = FleetJson | FleetDiffJson


def diff_json(found: FleetDiff) -> str:
    """Return the text to print."""
    verdict = "worse" if is_worse(found) else "as-before"
    return render(fill(FleetDiffJson, found, version=1, verdict=verdict))


def gravest(totals: FleetTotals) -> Verdict:
    """Return the verdict that needs attention first."""
    there = (each for each in ATTENTION if totals.verdicts.get(each.value))
    return next(there, Verdict.NOTHING)
