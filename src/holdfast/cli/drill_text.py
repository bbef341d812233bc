"""What drills showed, as text. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.cli.table import columns

if TYPE_CHECKING:
    from holdfast.drills.summary import SummaryJson

Again = Callable[[Sequence[str]], list[str]]
"""From the names of drills to the command that repeats them."""


def render_summary(found: SummaryJson, *, page: str, again: Again) -> list[str]:
    """Return what is shown: the answer first, then the table."""
    from holdfast.drills.answer import reason  # noqa: PLC0415 - loaded when a drill has run

    heads = ["phase", "verdict", "kills", "lost", "duplicated", "unexpected", ""]
    rows = [
        [
            each.drill,
            each.verdict,
            str(len(each.kills)),
            *(f"{count:,}" for count in (each.lost, each.duplicated, each.unexpected)),
            reason(each),
        ]
        for each in found.drills
    ]
    lines = [found.answer, "", *columns([heads, *rows]), "", f"Timeline: {page}"]
    bad = [each.drill for each in found.drills if each.verdict != "PASS"]
    if bad:
        lines.append(f"Again: {shlex.join(again(bad))}")
    return lines
