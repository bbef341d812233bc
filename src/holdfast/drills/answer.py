"""What drills showed, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.drills.result import DrillJson
from holdfast.drills.verdict import DrillVerdict


def answer(drills: Sequence[DrillJson]) -> str:
    """Return the verdict and what follows from it for the stream."""
    failed = [each for each in drills if each.verdict == DrillVerdict.FAIL.name]
    unknown = [each for each in drills if each.verdict == DrillVerdict.UNKNOWN.name]
    if failed:
        stuck = [each for each in failed if _is_stuck(each)]
        damaged = [each for each in failed if each not in stuck]
        of = f"of {len(drills)} phases"
        said = [f"in {len(damaged)} {of} a restart {_damage(damaged)}"] if damaged else []
        said += [f"in {len(stuck)} {of} the stream does not start again"] if stuck else []
        return f"FAIL: {'; '.join(said)}."
    if unknown or not drills:
        verb = "is" if len(unknown) == 1 else "are"
        return f"UNKNOWN: {len(unknown)} of {len(drills)} phases {verb} inconclusive."
    kills, phases = sum(len(each.kills) for each in drills), _count(len(drills), "phase")
    return f"PASS: killed {kills} times in {phases}, the stream ended with the same rows each time."


def reason(drill: DrillJson) -> str:
    """Return what the first check with the drill's verdict said; nothing when it passed."""
    if drill.verdict == DrillVerdict.PASS.name:
        return ""
    return next(each.told for each in drill.checks if each.verdict == drill.verdict)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _is_stuck(drill: DrillJson) -> bool:
    return any(
        each.check == "starts-again" and each.verdict == DrillVerdict.FAIL.name
        for each in drill.checks
    )


def _damage(failed: Sequence[DrillJson]) -> str:
    harm = {
        "loses": max(each.lost for each in failed),
        "duplicates": max(each.duplicated for each in failed),
        "adds unexpected": max(each.unexpected for each in failed),
    }
    said = [f"{verb} {_count(rows, 'row')}" for verb, rows in harm.items() if rows]
    return " and ".join(said) or "does not bring the stream to its end"
