"""The timelines of drills as one page: a line per driver, its batches as bars, where it died.

A batch has the same column in every line, so that what became of it can be read downwards. Start-up
takes most of a driver's time and shows nothing, so it is one cell of fixed width.

Here is where everything stands; the page is `timeline.html`, where jinja2 escapes every value. The
page has no script and loads nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from holdfast.report.template import render

_SPACIOUS, _DENSE = 14, 40
"""Up to so many columns a bar has room for its seconds, and for its number."""
_KINDS = {
    "completed": "completed",
    "repeated": "run again after a kill",
    "skipped": "skipped: the sink held it already",
    "cut": "the driver died in it",
}
_VERDICTS = {"NOT_CHECKED": "not checked"}
_FEW_SECTIONS = 4


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that a driver ran."""

    lane: str
    """Tells the streams of a drill apart."""
    batch: int
    kind: str
    """`completed`, `repeated`, `skipped`, or `cut` when the driver died in it."""
    seconds: float


class DriverRow(msgspec.Struct, frozen=True, kw_only=True):
    """One driver."""

    number: int
    epoch: str
    """Of a guarded stream; else empty."""
    start_seconds: float
    """Until its first batch."""
    seconds: float
    is_killed: bool
    ending: str
    """What was happening when it was killed, or how it ended."""
    bars: Sequence[Bar]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One check of the result."""

    check: str
    verdict: str
    told: str


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One drill."""

    title: str
    moment: str
    """When in a batch it kills, in words."""
    verdict: str
    figures: Sequence[int]
    """Kills, and rows lost, duplicated and unexpected."""
    reason: str
    drivers: Sequence[DriverRow]
    checks: Sequence[Line]


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """All drills of one command."""

    title: str
    verdict: str
    sentence: str
    facts: Sequence[str]
    """Date, versions, seed."""
    command: str
    """Repeats it."""
    sections: Sequence[Section]


def render_timelines(page: Page) -> str:
    """Return the page as HTML."""
    shown = [_place(section) for section in page.sections]
    bars = (bar for each in page.sections for driver in each.drivers for bar in driver.bars)
    used = {bar.kind for bar in bars}
    legend = {kind: words for kind, words in _KINDS.items() if kind in used}
    has_few = len(shown) <= _FEW_SECTIONS
    return render("timeline.html", page=page, sections=shown, legend=legend, has_few=has_few)


def _place(section: Section) -> dict[str, object]:
    """Return a drill with the column of every batch."""
    columns = _columns(section.drivers)
    size = "dense" if len(columns) > _DENSE else "spacious" if len(columns) <= _SPACIOUS else ""
    return {
        "section": section,
        "shown": [
            {"check": each, "verdict": _VERDICTS.get(each.verdict, each.verdict)}
            for each in section.checks
        ],
        "columns": max(len(columns), 1),
        "size": size,
        "drivers": [_place_driver(driver, columns) for driver in section.drivers],
    }


Column = tuple[str, int, int]
"""Stream, batch, and which of several runs of that batch in one driver."""


def _columns(drivers: Sequence[DriverRow]) -> list[Column]:
    """Return the columns: streams in the order in which they appear, each with its batches."""
    lanes = list(dict.fromkeys(bar.lane for driver in drivers for bar in driver.bars))
    found = {key for driver in drivers for key, _ in _numbered(driver.bars)}
    return sorted(found, key=lambda column: (lanes.index(column[0]), *column[1:]))


def _numbered(bars: Sequence[Bar]) -> list[tuple[Column, Bar]]:
    seen: Counter[tuple[str, int]] = Counter()
    numbered = []
    for bar in bars:
        key = bar.lane, bar.batch
        numbered.append(((*key, seen[key]), bar))
        seen[key] += 1
    return numbered


def _place_driver(driver: DriverRow, columns: Sequence[Column]) -> dict[str, object]:
    # CSS counts grid columns from 1, and the first is the start-up.
    places = [(columns.index(key) + 2, bar) for key, bar in _numbered(driver.bars)]
    last = max((column for column, _ in places), default=1)
    return {
        "driver": driver,
        "bars": [
            {"bar": bar, "column": column, "kind": _KINDS.get(bar.kind, bar.kind)}
            for column, bar in places
        ],
        "killed_column": last if driver.is_killed else None,
    }
