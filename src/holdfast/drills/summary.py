"""What drills showed: as values, as JSON, and as a page beside their histories."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from holdfast.drills.answer import answer, reason
from holdfast.drills.checks import count_rows
from holdfast.drills.drill import Drilled
from holdfast.drills.history import Ended, History, Reached, Started
from holdfast.drills.phases import ALL
from holdfast.drills.result import CheckJson, DrillJson
from holdfast.drills.timeline_rows import timeline_rows
from holdfast.drills.verdict import worst
from holdfast.report.envelope import Answer
from holdfast.report.timeline import Line, Page, Section, render_timelines
from holdfast.version import __version__

TIMELINES, RESULT = "timeline.html", "result.json"
_MOMENTS = {phase.name: phase.display_name for phase in ALL}


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What was drilled, when, and how to do it again."""

    target: str
    began: datetime
    """With its time zone."""
    command: str
    seed: int | None = None


class SummaryJson(Answer, kw_only=True, tag_field="format", tag="holdfast.drill"):
    """What `holdfast drill run --format json` prints.

    The verdict is PASS, FAIL, or UNKNOWN when a kill did not happen or a check could not look; the
    worst.
    """

    version: int = 1
    verdict: str
    target: str
    answer: str
    """The verdict in a sentence."""
    began: str
    seed: int | None
    versions: dict[str, str]
    """Of Holdfast, Spark (when a driver got as far as a session) and Python."""
    drills: list[DrillJson]


def summarize(about: About, drilled: Sequence[Drilled]) -> SummaryJson:
    """Return what drills showed."""
    drills = [_drill(each) for each in drilled]
    return SummaryJson(
        target=about.target,
        verdict=worst(each.verdict for each in drilled).name,
        answer=answer(drills),
        began=about.began.isoformat(timespec="seconds"),
        seed=about.seed,
        versions=_versions(drilled),
        drills=drills,
    )


def write_summary(about: About, drilled: Sequence[Drilled], *, directory: Path) -> Path:
    """Write what drills showed beside their histories; return where the timelines are."""
    found = summarize(about, drilled)
    encoded = msgspec.json.encode(found)
    (directory / RESULT).write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")
    page = directory / TIMELINES
    page.write_text(render_timelines(_page(about, found)))
    return page


def _versions(drilled: Sequence[Drilled]) -> dict[str, str]:
    points = (
        event.point
        for each in drilled
        for event in History(each.directory).events()
        if isinstance(event, Reached)
    )
    spark = next((point for point in points if point.startswith("spark=")), "")
    found = {"Holdfast": __version__, "Spark": spark.removeprefix("spark=")}
    found["Python"] = platform.python_version()
    return {name: version for name, version in found.items() if version}


def _drill(drilled: Drilled) -> DrillJson:
    history = History(drilled.directory)
    events = history.events()
    lost, duplicated, unexpected = count_rows(history)
    ends = [each for each in events if isinstance(each, Ended)]
    return DrillJson(
        drill=drilled.name,
        verdict=drilled.verdict.name,
        kills=[each.point for each in events if isinstance(each, Started) and each.point],
        lost=lost,
        duplicated=duplicated,
        unexpected=unexpected,
        cpu_seconds=round(sum(each.cpu_seconds for each in ends), 1),
        checks=[
            CheckJson(check=each.check, verdict=each.verdict.name, told=each.told)
            for each in drilled.checked
        ],
        directory=str(drilled.directory),
    )


def _page(about: About, found: SummaryJson) -> Page:
    verdict, _, sentence = found.answer.partition(": ")
    facts = [f"{about.began:%Y-%m-%d %H:%M %Z}"]
    facts += [f"{name} {version}" for name, version in found.versions.items()]
    facts += [] if about.seed is None else [f"seed {about.seed}"]
    return Page(
        title=about.target,
        verdict=verdict,
        sentence=sentence[:1].upper() + sentence[1:],
        facts=facts,
        command=about.command,
        sections=[_section(each) for each in found.drills],
    )


def _section(drill: DrillJson) -> Section:
    return Section(
        title=drill.drill,
        moment=_MOMENTS.get(drill.drill.rpartition("/")[2], ""),
        verdict=drill.verdict,
        figures=[len(drill.kills), drill.lost, drill.duplicated, drill.unexpected],
        reason=reason(drill),
        drivers=timeline_rows(History(Path(drill.directory)).events()),
        checks=[
            Line(check=each.check, verdict=each.verdict, told=each.told) for each in drill.checks
        ],
    )
