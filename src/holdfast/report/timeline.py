"""The timelines of drills as one page: a line per driver, its batches as bars, where it died.

Here is the arithmetic; the page is `timeline.html`, where jinja2 escapes every value. The page has
no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, LINE, LEFT = 1000, 46, 210
"""In pixels: the picture, the height of one driver in it, and the names on its left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A batch in the life of a driver."""

    began: float
    ended: float
    shown: str
    kind: str
    """`applied`, `skipped`, or `cut` when the driver died in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One driver."""

    shown: str
    began: float
    ended: float
    epoch: str
    killed_at: str | None
    how: str
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One check of the result."""

    check: str
    verdict: str
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One drill."""

    title: str
    lives: Sequence[Life]
    checks: Sequence[Line]


def render_timelines(title: str, sections: Iterable[Section]) -> str:
    """Return the page."""
    import jinja2  # noqa: PLC0415 - costs 30 ms, and only drills draw

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("holdfast.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    placed = [_place(section) for section in sections]
    return environment.get_template("timeline.html").render(title=title, sections=placed)


def _place(section: Section) -> dict[str, Any]:
    """Return a drill with the places of everything in its picture."""
    lives = section.lives
    began = min((life.began for life in lives), default=0.0)
    ended = max((life.ended for life in lives), default=1.0)
    scale = (WIDTH - LEFT - 20) / max(ended - began, 0.001)
    return {
        "title": section.title,
        "width": WIDTH,
        "height": LINE * len(lives) + 40,
        "ticks": list(_place_ticks(ended - began, scale=scale)),
        "lives": [
            _place_life(life, top=LINE * number + 20, zero=began, scale=scale)
            for number, life in enumerate(lives)
        ],
        "checks": section.checks,
    }


def _place_life(life: Life, *, top: int, zero: float, scale: float) -> dict[str, Any]:
    def x(at: float) -> float:
        return round(LEFT + (at - zero) * scale, 1)

    def width(began: float, ended: float, *, least: int) -> float:
        return max(round(x(ended) - x(began), 1), least)

    return {
        "shown": life.shown,
        "ending": life.killed_at or life.how,
        "epoch": life.epoch,
        "top": top,
        "x": x(life.began),
        "width": width(life.began, life.ended, least=1),
        "killed_x": x(life.ended) if life.killed_at else None,
        "bars": [
            {
                "kind": bar.kind,
                "shown": bar.shown,
                "x": x(bar.began),
                "width": width(bar.began, bar.ended, least=2),
            }
            for bar in life.bars
        ],
    }


def _place_ticks(seconds: float, *, scale: float) -> Iterator[dict[str, float]]:
    step = max(1, round(seconds / 8))
    for second in range(0, int(seconds) + 1, step):
        yield {"second": second, "x": round(LEFT + second * scale, 1)}
