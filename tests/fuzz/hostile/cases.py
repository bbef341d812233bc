"""Every hostile checkpoint."""

from __future__ import annotations

from tests.fuzz.hostile import links, logs, names, states, zips

CASES = {
    case.name: case
    for cases in (zips.CASES, states.CASES, logs.CASES, names.CASES, links.CASES)
    for case in cases
}
