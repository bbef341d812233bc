"""What drills showed: as values, as JSON, and as a page beside their histories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from holdfast.drills.checks import count_rows
from holdfast.drills.drill import Drilled
from holdfast.drills.history import Ended, History, Started
from holdfast.drills.timeline_rows import timeline_rows
from holdfast.drills.verdict import worst
from holdfast.report.timeline import Line, Section, render_timelines

TIMELINES, RESULT = "timeline.html", "result.json"


class CheckJson(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    verdict: str
    told: str


class DrillJson(msgspec.Struct, frozen=True, kw_only=True):
    """What the kills in one phase showed."""

    drill: str
    verdict: str
    kills: list[str]
    lost: int
    doubled: int
    foreign: int
    """Rows, where it was worst."""
    cpu_seconds: float
    checks: list[CheckJson]
    directory: str
    """Where its history is."""


class SummaryJson(msgspec.Struct, frozen=True, kw_only=True):
    """What `holdfast drill run --format json` prints."""

    version: int = 1
    target: str
    verdict: str
    """PASS, FAIL, or UNKNOWN when a kill did not fire or a check could not look; the worst."""
    drills: list[DrillJson]


def summarize(target: str, drilled: Sequence[Drilled]) -> SummaryJson:
    """Return what drills showed."""
    verdict = worst(each.verdict for each in drilled).name
    return SummaryJson(target=target, verdict=verdict, drills=[_drill(each) for each in drilled])


def write_summary(target: str, drilled: Sequence[Drilled], *, directory: Path) -> Path:
    """Write what drills showed beside their histories; return where the timelines are."""
    encoded = msgspec.json.encode(summarize(target, drilled))
    (directory / RESULT).write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
    page = directory / TIMELINES
    page.write_text(render_timelines(target, map(_section, drilled)))
    return page


def _drill(drilled: Drilled) -> DrillJson:
    history = History(drilled.directory)
    events = history.events()
    lost, doubled, foreign = count_rows(history)
    ends = [each for each in events if isinstance(each, Ended)]
    return DrillJson(
        drill=drilled.name,
        verdict=drilled.verdict.name,
        kills=[each.point for each in events if isinstance(each, Started) and each.point],
        lost=lost,
        doubled=doubled,
        foreign=foreign,
        cpu_seconds=round(sum(each.cpu_seconds for each in ends), 1),
        checks=[
            CheckJson(check=each.check, verdict=each.verdict.name, told=each.told)
            for each in drilled.checked
        ],
        directory=str(drilled.directory),
    )


def _section(drilled: Drilled) -> Section:
    return Section(
        title=f"{drilled.name}: {drilled.verdict.name}",
        lives=timeline_rows(History(drilled.directory).events()),
        checks=[
            Line(check=each.check, verdict=each.verdict.name, told=each.told)
            for each in drilled.checked
        ],
    )
