"""Boxes, arrows and words as SVG: readable on a light and on a dark page, without fonts or scripts.

An SVG that a page shows as an image follows the setting of the system, not the switch of the page.
So every picture has a background of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

STYLE = """
svg { --paper: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #8c959f; --spark: #fff1e0;
  --spark-line: #d9822b; --ours: #e6f0ff; --ours-line: #2f6fdb; --sink: #e7f6ec;
  --sink-line: #2a8a4a; --kill: #c93c37; --panel: #f6f8fa; font-family: system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #14171c; --ink: #e6e9ee; --soft: #a3acb8; --line: #6b7480; --spark: #3a2a17;
    --spark-line: #e39a4a; --ours: #16294a; --ours-line: #6ea0f5; --sink: #15321f;
    --sink-line: #56b877; --kill: #f47067; --panel: #1c2128; }
}
.paper { fill: var(--paper); } .panel { fill: var(--panel); stroke: var(--line); }
.spark { fill: var(--spark); stroke: var(--spark-line); }
.ours { fill: var(--ours); stroke: var(--ours-line); }
.sink { fill: var(--sink); stroke: var(--sink-line); }
.plain { fill: var(--paper); stroke: var(--line); }
.arrow { stroke: var(--ink); stroke-width: 1.6; fill: none; marker-end: url(#tip); }
.dashed { stroke-dasharray: 5 4; }
.kill { stroke: var(--kill); stroke-width: 1.6; stroke-dasharray: 4 4; }
.title { fill: var(--ink); font-weight: 600; font-size: 15px; }
.text { fill: var(--ink); font-size: 13px; } .soft { fill: var(--soft); font-size: 12.5px; }
.red { fill: var(--kill); font-size: 13px; font-weight: 600; } .tip { fill: var(--ink); }
"""
TIP = (
    '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path class="tip" d="M0 0 L10 5 L0 10 z"/></marker>'
)


@dataclass
class Drawing:
    """A picture that is drawn element by element."""

    width: int
    height: int
    title: str
    elements: list[str] = field(default_factory=list)

    def box(self, kind: str, at: tuple[int, int], size: tuple[int, int], *lines: str) -> None:
        """Draw a box with a title and lines of text below it."""
        (x, y), (width, height) = at, size
        self.elements.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>'
        )
        for number, line in enumerate(lines):
            self.words("text" if number else "title", (x + 12, y + 24 + 20 * number), line)

    def words(self, kind: str, at: tuple[int, int], text: str, *, anchor: str = "start") -> None:
        """Write a line of text."""
        x, y = at
        self.elements.append(
            f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def arrow(self, *points: tuple[int, int], kind: str = "") -> None:
        """Draw an arrow along points."""
        path = " L".join(f"{x} {y}" for x, y in points)
        self.elements.append(f'<path class="arrow {kind}" d="M{path}"/>')

    def line(self, kind: str, begin: tuple[int, int], end: tuple[int, int]) -> None:
        """Draw a line without a tip."""
        (x1, y1), (x2, y2) = begin, end
        self.elements.append(f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>')

    def svg(self) -> str:
        """Return the picture."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        paper = f'<rect class="paper" width="{self.width}" height="{self.height}" rx="10"/>'
        parts = [head, f"<title>{escape(self.title)}</title>", f"<style>{STYLE}</style>"]
        parts += [f"<defs>{TIP}</defs>", paper, *self.elements, "</svg>"]
        return "\n".join(parts) + "\n"
