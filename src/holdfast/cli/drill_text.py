"""What drills showed, as text. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdfast.cli.table import columns

if TYPE_CHECKING:
    from holdfast.drills.summary import DrillJson, SummaryJson

Again = Callable[[Sequence[str]], list[str]]
"""From the names of drills to the command that repeats them."""


def render_summary(found: SummaryJson, *, page: str, again: Again) -> list[str]:
    """Return what is shown: the answer first, then the table."""
    heads = ["phase", "verdict", "kills", "lost", "doubled", "foreign", ""]
    rows = [
        [
            each.drill,
            each.verdict,
            str(len(each.kills)),
            *(f"{count:,}" for count in (each.lost, each.doubled, each.foreign)),
            "" if each.verdict == "PASS" else _reason(each),
        ]
        for each in found.drills
    ]
    lines = [_answer(found), "", *columns([heads, *rows]), "", f"Timelines: {page}"]
    bad = [each.drill for each in found.drills if each.verdict != "PASS"]
    if bad:
        lines.append(f"Again: {shlex.join(again(bad))}")
    return lines


def _reason(drill: DrillJson) -> str:
    """Return what the first check with the drill's verdict said."""
    return next(each.told for each in drill.checks if each.verdict == drill.verdict)


def _answer(found: SummaryJson) -> str:
    drills = found.drills
    failed = [each for each in drills if each.verdict == "FAIL"]
    unknown = [each for each in drills if each.verdict == "UNKNOWN"]
    if failed:
        stuck = [each for each in failed if _is_stuck(each)]
        damaged = [each for each in failed if each not in stuck]
        told = [f"in {len(damaged)} of {len(drills)} phases {_damage(damaged)}"] if damaged else []
        if stuck:
            of = "" if told else f" of {len(drills)} phases"
            told.append(f"in {len(stuck)}{of} the stream does not start again")
        return f"FAIL: after a kill {', '.join(told)}."
    if unknown or not drills:
        return f"UNKNOWN: in {len(unknown)} of {len(drills)} phases nothing was shown."
    kills = sum(len(each.kills) for each in drills)
    return f"PASS: {kills} kills in {len(drills)} phases; every restart ended with the same rows."


def _is_stuck(drill: DrillJson) -> bool:
    return any(each.check == "starts-again" and each.verdict == "FAIL" for each in drill.checks)


def _damage(failed: Sequence[DrillJson]) -> str:
    harm = {
        "lost": any(each.lost for each in failed),
        "doubled": any(each.doubled for each in failed),
        "never sent": any(each.foreign for each in failed),
    }
    told = " and ".join(word for word, is_so in harm.items() if is_so)
    return f"rows are {told}" if told else "the stream does not go on"
