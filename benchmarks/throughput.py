"""Rounds of several ways to do the same work: wall time, and CPU of client and server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psutil

from benchmarks.measuring import Spread, ratios, spread

AGREED = 3
WITHIN = 0.10
MOST_WARM_ROUNDS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to do the work."""

    name: str
    run: Callable[[], object]
    prepare: Callable[[], object]
    """Not timed."""
    check: Callable[[], object]
    """Not timed; raises when the work was not done."""


@dataclass(slots=True)
class Figures:
    """What the measured rounds of one way took, in seconds."""

    wall: list[float] = field(default_factory=list)
    client: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)


def measure(
    ways: Sequence[Way], *, rounds: int, server_pid: int, most_warm: int = MOST_WARM_ROUNDS
) -> dict[str, Figures]:
    """Do all ways in turns: first until their times agree, then as often as asked."""
    warm: dict[str, Figures] = {way.name: Figures() for way in ways}
    done = 0
    while done < most_warm and not all(_agree(each.wall) for each in warm.values()):
        _do_round(ways, warm, server_pid)
        done += 1
    print(f"  {done} rounds to warm up, {rounds} measured")
    found: dict[str, Figures] = {way.name: Figures() for way in ways}
    for _ in range(rounds):
        _do_round(ways, found, server_pid)
    return found


def _agree(seconds: Sequence[float]) -> bool:
    last = seconds[-AGREED:]
    return len(last) == AGREED and max(last) <= min(last) * (1 + WITHIN)


def _do_round(ways: Sequence[Way], into: dict[str, Figures], server_pid: int) -> None:
    server, client = psutil.Process(server_pid), psutil.Process()
    for way in ways:
        way.prepare()
        theirs = cpu_seconds(server)
        ours = cpu_seconds(client, without=server)
        began = time.perf_counter()
        way.run()
        figures = into[way.name]
        figures.wall.append(time.perf_counter() - began)
        figures.client.append(cpu_seconds(client, without=server) - ours)
        figures.server.append(cpu_seconds(server) - theirs)
        way.check()


def cpu_seconds(top: psutil.Process, *, without: psutil.Process | None = None) -> float:
    """Return the CPU time of a process and all below it, also of those that have ended."""
    while True:
        try:
            return _add_up(top, without)
        except psutil.NoSuchProcess:
            continue  # it ended meanwhile, and is counted with its parent now


def _add_up(top: psutil.Process, without: psutil.Process | None) -> float:
    if top == without:
        return 0
    times = top.cpu_times()
    own = times.user + times.system + times.children_user + times.children_system
    return own + sum(_add_up(child, without) for child in top.children())


def show(found: dict[str, Figures], *, rows: int) -> None:
    """Print one line per way: rows per second, and CPU per row."""
    print(f"  {'':<34}{'thousand rows/s':<28}{'client us/row':>14}{'server us/row':>14}")
    for name, figures in found.items():
        rate = spread([rows / seconds / 1e3 for seconds in figures.wall]).show(0)
        each = [spread(part).median / rows * 1e6 for part in (figures.client, figures.server)]
        print(f"  {name:<34}{rate:<28}{each[0]:>14.2f}{each[1]:>14.2f}")


def times_faster(ours: Figures, theirs: Figures) -> Spread:
    """Return how many times faster ours was, round by round."""
    return ratios(theirs.wall, ours.wall)
