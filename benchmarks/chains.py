"""What chains of kills have in common: a reader beside them, and what became of them in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.reader import Reader
from holdfast.drills.kill import Driver, Link, Point, cpu_seconds_per_kill, run_chain
from holdfast.proof.multiset import Difference


class Workload(Protocol):
    """Known rows, and where they are brought to."""

    def judge(self, point: Point | None) -> None:
        """Raise when what is there is not what must be: after a kill, or at the end."""

    def difference(self) -> Difference:
        """Compare what is there with what must be there at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of a chain."""

    work: Workload
    links: list[Link]
    reader: Reader

    @property
    def kills(self) -> int:
        """How many there were."""
        return len(self.links) - 1


def run_beside(reader: Reader, driver: Driver, points: Sequence[Point], *, work: Workload) -> Ran:
    """Run a chain while a reader looks.

    Raises:
        AssertionError: Something was lost or doubled, or the reader saw a part of a batch.
        KillDidNotFireError, DriverFailedError: A run did not end as it should.
    """
    with reader:
        links = run_chain(driver, points, judge=work.judge)
        reader.wait_for_polls(1)
    assert not reader.torn, reader.torn[0]
    return Ran(work=work, links=links, reader=reader)


def describe(ran: Ran) -> str:
    """Say what became of a chain."""
    found = ran.work.difference()
    return (
        f"{ran.kills} kills, {found.missing} lost, {found.doubled + found.foreign} doubled, "
        f"{cpu_seconds_per_kill(ran.links):.1f} CPU s per kill; reader: {ran.reader.told()}"
    )


def describe_bound(kills: int) -> str:
    """Say what so many kills without a failure show, by the rule of three."""
    return f"No failure in {kills} kills: at 95 % fewer than {3 / kills:.1%} of kills fail (3/n)."
