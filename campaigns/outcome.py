"""What drills of a campaign showed, in one line each, and the bound that follows from all."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.drills.checks import READER, Past, count_rows
from holdfast.drills.drill import Drilled
from holdfast.drills.history import Ended, History, Looked, Started
from holdfast.proof.multiset import Difference


def kills_of(history: History) -> int:
    """Return how many points were to kill a driver."""
    starts = [each for each in history.events() if isinstance(each, Started)]
    return sum(each.point is not None for each in starts)


def cpu_seconds_per_kill(history: History) -> float:
    """Return the CPU time of all runs divided by the kills."""
    ends = [each for each in history.events() if isinstance(each, Ended)]
    return sum(each.cpu_seconds for each in ends) / kills_of(history)


def looks_of(history: History) -> int:
    """Return how often a reader looked beside the runs."""
    looks = [each for each in history.events() if isinstance(each, Looked)]
    return sum(each.by == READER for each in looks)


def describe(drilled: Drilled) -> str:
    """Say what a drill showed, and what was wrong."""
    history = History(drilled.directory)
    lost, duplicated, foreign = count_rows(history)
    line = f"{drilled.name}: {drilled.verdict.name}, {kills_of(history)} kills, {lost} lost"
    line += f", {duplicated + foreign} duplicated, {looks_of(history):,} looks of a reader"
    line += f", {cpu_seconds_per_kill(history):.1f} CPU s per kill"
    if Past(history).kept[0] is not None:
        line += "".join(f"; {each.told}" for each in drilled.checked if each.check == "same-state")
    wrong = [each for each in drilled.checked if each.verdict.is_bad]
    told = (f"  {each.verdict.name} {each.check}: {each.told}" for each in wrong)
    return "\n".join([line, *told])


def differences_of(history: History) -> dict[str, Difference]:
    """Return how each sink differed in the end from what it must hold."""
    past = Past(history)
    return {sink: past.difference(look) for sink, look in past.last.items()}


def describe_tables(differences: Mapping[str, Difference]) -> str:
    """Say how tables differ from what they must hold."""
    return "; ".join(
        f"{table}: {found.expected:,} rows, {found.missing} lost, "
        f"{found.duplicated + found.foreign} duplicated"
        for table, found in differences.items()
    )


def describe_bound(kills: int) -> str:
    """Say what so many kills without a failure show, by the rule of three."""
    return f"No failure in {kills} kills: at 95 % fewer than {3 / kills:.2%} of kills fail (3/n)."
