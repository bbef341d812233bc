"""Columns of text. Pure."""

from __future__ import annotations

from collections.abc import Sequence

WIDEST = 64
"""A cell longer than this does not push the next column to the right."""
_GAP = 2


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines with their cells under each other; the last cell of a row runs free."""
    widths: dict[int, int] = {}
    for row in rows:
        for place, cell in enumerate(row[:-1]):
            widths[place] = max(widths.get(place, 0), min(len(cell), WIDEST))
    lines = []
    for row in rows:
        cells = [cell.ljust(widths[place]) + " " * _GAP for place, cell in enumerate(row[:-1])]
        lines.append("".join([*cells, *row[-1:]]).rstrip())
    return lines
