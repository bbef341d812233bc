"""Chained kills: each run recovers the last death and dies at the next point.

n kills need n + 1 JVMs instead of 2n, and recovery is itself killed. The state is judged after
every death, so that a failure belongs to one point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.drills.kill.driver import Driver, Ended
from holdfast.drills.kill.points import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One run of a chain: the point it died at, None for the last run, which went to its end."""

    point: Point | None
    ended: Ended


def run_chain(
    driver: Driver, points: Sequence[Point], *, judge: Callable[[Point | None], None]
) -> list[Link]:
    """Kill the driver at each point in turn, then let it run to its end.

    Args:
        driver: Started anew for every link, on the same checkpoint.
        points: Where to kill it, in this order.
        judge: Called after every death, and with None after the end; raises on a wrong state.

    Raises:
        KillDidNotFireError: A run did not die at its point.
        DriverFailedError: The last run did not end well.
    """
    links = []
    for point in points:
        links.append(Link(point=point, ended=driver.run_until_killed(point)))
        judge(point)
    links.append(Link(point=None, ended=driver.run_to_end()))
    judge(None)
    return links


def cpu_seconds_per_kill(links: Sequence[Link]) -> float:
    """Return the CPU time of all runs of a chain divided by its kills."""
    kills = sum(link.point is not None for link in links)
    return sum(link.ended.cpu_seconds for link in links) / kills
