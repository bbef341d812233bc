"""What changed between two scans of a fleet, for people: what got worse first."""

from __future__ import annotations

from holdfast.cli.table import columns
from holdfast.fleet.compare import ChangeKind, FleetDiff
from holdfast.wording import moment

_WORDS = {
    ChangeKind.UNSAFE: "newly unsafe",
    ChangeKind.BACK: "went back to an earlier batch",
    ChangeKind.STUCK: "stuck",
    ChangeKind.UNKNOWN: "no longer known",
    ChangeKind.GONE: "gone",
    ChangeKind.GROWING: "growing",
    ChangeKind.NEW: "new",
    ChangeKind.RECOVERED: "recovered",
}
_ENDS = (ChangeKind.NEW, ChangeKind.GONE)
_SHOWN = 20
_WIDEST = 100


def render_diff(found: FleetDiff) -> list[str]:
    """Return the lines to show."""
    parts = [
        f"{found.totals[kind]:,} {_WORDS[kind]}" for kind in ChangeKind if kind in found.totals
    ]
    since = "the earlier scan" if found.before_ms is None else moment(found.before_ms)
    first = (
        f"Since {since}: {', '.join(parts) or 'nothing changed'}; {found.unchanged:,} as before."
    )
    rows = [
        (f"  {each.change.value}", each.location, each.sentence[:_WIDEST])
        for each in found.changes[:_SHOWN]
    ]
    lines = [first, *_say_other_fleet(found), *([""] if rows else []), *columns(rows)]
    if len(found.changes) > _SHOWN:
        lines.append(f"  and {len(found.changes) - _SHOWN:,} more: --format json has all of them")
    return lines


def _say_other_fleet(found: FleetDiff) -> list[str]:
    """Say so if the scans have no checkpoint in common."""
    ends = {kind: {e.location for e in found.changes if e.change is kind} for kind in _ENDS}
    others = {each.location for each in found.changes}.difference(*ends.values())
    if found.unchanged or others or not all(ends.values()):
        return []
    return ["The two scans have no checkpoint in common: are they of the same locations?"]
