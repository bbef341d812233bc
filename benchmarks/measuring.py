"""How the benchmarks measure: in turns, in processes of their own, as medians with their spread."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of some figures, with the lowest and the highest."""

    median: float
    lowest: float
    highest: float

    def show(self, digits: int = 1, *, times: float = 1) -> str:
        """Return it as text, in another unit if need be."""
        middle, low, high = (
            f"{figure * times:,.{digits}f}" for figure in (self.median, self.lowest, self.highest)
        )
        return f"{middle} ({low} to {high})"


def spread(figures: Sequence[float]) -> Spread:
    """Return the median of some figures and how far they lie apart."""
    return Spread(median=statistics.median(figures), lowest=min(figures), highest=max(figures))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return how many times longer ours took than theirs, turn by turn."""
    return spread([mine / other for mine, other in zip(ours, theirs, strict=True)])


def in_turns(
    actions: dict[str, Callable[[], object]],
    turns: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Do the actions one after the other, several times, so that a busy machine slows all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(turns):
        for name, action in actions.items():
            began = clock()
            action()
            seconds[name].append(clock() - began)
    return seconds


def run_child(module: str, *arguments: object) -> Any:
    """Run a module in a process of its own and return the JSON it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def peak_rss_mb() -> float:
    """Return the most memory this process has held.

    Not `ru_maxrss`: Linux carries that of the parent over into a process it starts.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise AssertionError("the kernel does not say how much memory a process held")


def exit_when_missed(missed: Sequence[str]) -> None:
    """End with 1, and say which aims were missed, when any were."""
    if missed:
        sys.exit(f"Missed: {'; '.join(missed)}.")


def show_growth(what: str, sizes: Sequence[int], each: Sequence[float]) -> str:
    """Return how the cost of one element changed from the smallest size to the largest."""
    return (
        f"  From {sizes[0]:,} to {sizes[-1]:,} {what} (x {sizes[-1] / sizes[0]:,.0f}) "
        f"the cost of one changes x {each[-1] / each[0]:.2f}."
    )
