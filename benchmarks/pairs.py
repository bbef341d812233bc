"""Ways to do the same work, in turns whose order changes; their medians compared, with an interval.

A JVM gets faster for minutes, by more than two ways differ. So nothing is measured before the times
have come to rest, and from then on whoever was first in one turn is last in the next.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

AT_REST_TURNS = 6
"""The median of so many turns is held against that of as many before."""
WITHIN = 0.05
MOST_WARM_TURNS = 40
SAMPLES = 4_000
_TAIL = 0.025

Measured = dict[str, list[float]]
"""What each turn took, by the name of the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times one median is another, and between what it lies with 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} times ({self.low:.2f} to {self.high:.2f})"


def measure_in_turns(ways: Mapping[str, Callable[[], float]], *, turns: int) -> Measured:
    """Do all ways in turns: first until their times are at rest, then as often as asked.

    Args:
        ways: Each does its work once and returns what it took.
        turns: Measured ones.
    """
    warm: Measured = {name: [] for name in ways}
    done = 0
    while done < MOST_WARM_TURNS and not all(map(_is_at_rest, warm.values())):
        _take_turn(ways, done, warm)
        done += 1
    found: Measured = {name: [] for name in ways}
    for number in range(turns):
        _take_turn(ways, number, found)
    print(f"  {done} turns to warm up, {turns} measured", flush=True)
    return found


def _take_turn(ways: Mapping[str, Callable[[], float]], number: int, into: Measured) -> None:
    names = list(ways)
    for name in names if number % 2 == 0 else reversed(names):
        into[name].append(ways[name]())


def _is_at_rest(figures: Sequence[float]) -> bool:
    if len(figures) < 2 * AT_REST_TURNS:
        return False
    before = statistics.median(figures[-2 * AT_REST_TURNS : -AT_REST_TURNS])
    return abs(statistics.median(figures[-AT_REST_TURNS:]) / before - 1) < WITHIN


def compare_medians(ours: Sequence[float], theirs: Sequence[float], *, seed: int = 1) -> Ratio:
    """Return the ratio of the medians; the interval is that of turns drawn again and again."""
    draw = random.Random(seed)  # noqa: S311 - the same every time
    turns = list(zip(ours, theirs, strict=True))
    drawn = sorted(_ratio(draw.choices(turns, k=len(turns))) for _ in range(SAMPLES))
    cut = int(SAMPLES * _TAIL)
    return Ratio(value=_ratio(turns), low=drawn[cut], high=drawn[-1 - cut])


def _ratio(turns: Sequence[tuple[float, float]]) -> float:
    ours, theirs = ([turn[side] for turn in turns] for side in (0, 1))
    return statistics.median(ours) / statistics.median(theirs)


def show_percentiles(name: str, figures: Sequence[float], *, unit: str = "ms") -> None:
    """Print the median and the 95th percentile."""
    high = statistics.quantiles(figures, n=20)[-1]
    middle = statistics.median(figures)
    print(f"  {name:<36}p50 {middle:10,.1f} {unit}   p95 {high:10,.1f} {unit}", flush=True)
