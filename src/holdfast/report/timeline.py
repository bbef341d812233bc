"""The timelines of drills as one page: a line per driver, its batches as bars, where it died.

The page has no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LINE, LEFT = 1000, 46, 210
_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 2em; color: #1b1f24; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { padding: 4px 12px 4px 0; text-align: left; vertical-align: top; }
svg text { font: 11px system-ui, sans-serif; fill: #1b1f24; }
.applied { fill: #2da44e; } .skipped { fill: #8c959f; } .cut { fill: #cf222e; }
.life { fill: #eaeef2; } .kill { stroke: #cf222e; stroke-width: 3; } .tick { stroke: #d0d7de; }
.PASS { color: #1a7f37; } .FAIL { color: #cf222e; } .UNKNOWN { color: #9a6700; }
"""
_LEGEND = (
    '<p><span class="PASS">&#9632;</span> written &nbsp; &#9632; skipped: it was there already '
    '&nbsp; <span class="FAIL">&#9632;</span> the driver died in it &nbsp; '
    '<span class="FAIL">&#10005;</span> killed</p>'
)


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
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{_LEGEND}{''.join(map(_draw, sections))}</body></html>\n"
    )


def _draw(section: Section) -> str:
    lives = section.lives
    began = min((life.began for life in lives), default=0.0)
    ended = max((life.ended for life in lives), default=1.0)
    scale = (WIDTH - LEFT - 20) / max(ended - began, 0.001)
    height = LINE * len(lives) + 40
    drawn = "".join(
        _draw_life(life, top=LINE * number + 20, zero=began, scale=scale)
        for number, life in enumerate(lives)
    )
    ticks = "".join(_draw_ticks(ended - began, height=height, scale=scale))
    rows = "".join(_row(line) for line in section.checks)
    return (
        f'<h2>{escape(section.title)}</h2><svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'role="img">{ticks}{drawn}</svg><table>{rows}</table>'
    )


def _row(line: Line) -> str:
    return (
        f"<tr><td>{escape(line.check)}</td>"
        f'<td class="{escape(line.verdict)}">{escape(line.verdict)}</td>'
        f"<td>{escape(line.told)}</td></tr>"
    )


def _draw_life(life: Life, *, top: float, zero: float, scale: float) -> str:
    def x(at: float) -> float:
        return round(LEFT + (at - zero) * scale, 1)

    parts = [
        f'<text x="0" y="{top + 12}">{escape(life.shown)}</text>',
        f'<text x="0" y="{top + 26}">{escape(life.killed_at or life.how)}</text>',
        f'<rect class="life" x="{x(life.began)}" y="{top}" '
        f'width="{max(x(life.ended) - x(life.began), 1)}" height="20"/>',
    ]
    parts += [
        f'<rect class="{bar.kind}" x="{x(bar.began)}" y="{top + 3}" height="14" '
        f'width="{max(x(bar.ended) - x(bar.began), 2)}"><title>{escape(bar.shown)}</title></rect>'
        for bar in life.bars
    ]
    if life.epoch:
        parts.append(f'<text x="{x(life.began)}" y="{top + 32}">epoch {escape(life.epoch)}</text>')
    if life.killed_at:
        at = x(life.ended)
        cross = ((at - 5, top + 4, at + 5, top + 16), (at - 5, top + 16, at + 5, top + 4))
        parts += [
            f'<line class="kill" x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>' for a, b, c, d in cross
        ]
    return "".join(parts)


def _draw_ticks(seconds: float, *, height: int, scale: float) -> Iterator[str]:
    step = max(1, round(seconds / 8))
    for second in range(0, int(seconds) + 1, step):
        at = round(LEFT + second * scale, 1)
        yield f'<line class="tick" x1="{at}" y1="0" x2="{at}" y2="{height}"/>'
        yield f'<text x="{at + 3}" y="10">{second} s</text>'
