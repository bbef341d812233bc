"""Where streams into Iceberg are killed, and how a chain of kills runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from campaigns.iceberg_kills.workload import COMMIT, REST_COMMIT, make_workload
from campaigns.judging import judge
from campaigns.pausing import pause_and_replace
from campaigns.streams.driven import Driven
from campaigns.streams.guarded_to_iceberg import NATIVE, PLAIN
from holdfast.drills.builtin.cells import STATES
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill import Named, Point, Rename
from holdfast.drills.polling_reader import polling_reader
from lab import Postgres
from lab.faults.tcp_proxy import TcpRequest


def _commit(when: str, nth: int) -> TcpRequest:
    return TcpRequest("before" if when == "before" else "after", COMMIT, nth)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    shape: str
    points: Sequence[Point]
    settings: Mapping[str, str] = field(default_factory=dict)


_FIRST: list[Point] = [
    Named("G2"),
    Named("generation-opened"),
    _commit("before", 1),  # the ledger row is opened
    _commit("after", 1),
    Named("fenced"),
    Named("G5"),
    Rename("before", "offsets/0"),
    Rename("after", "offsets/0"),
]
_BATCHES: list[Point] = [
    Named("S2"),
    Named("S3"),
    _commit("before", 2),  # the fence, then what is staged
    _commit("after", 2),
    Named("S4"),
    Named("S5"),
    _commit("before", 3),  # published, when the driver is gone
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Rename("after", "commits/0"),
    _commit("after", 3),  # batch 1 is published, and nobody knows
    Named("S6", nth=2),
    _commit("after", 5),
    Named("G3"),
    _commit("before", 1),
    _commit("after", 1),  # the fence landed, and nobody knows
    Named("S4", nth=2),
    Named("S6"),
    Named("S7"),
    Named("G6"),
]
_WITH_STATE: list[Point] = [
    Named("G5"),
    Rename("before", ".zip"),
    Rename("after", ".zip", nth=2),
    Named("S3"),
    _commit("before", 2),
    Named("S4"),
    Named("S5"),
    _commit("after", 3),
    Rename("before", ".zip"),  # it is in the table: skipped and drained
    Named("S7"),
    Rename("before", "commits/0"),
    Rename("after", "offsets/1"),
    _commit("after", 3),
    Named("S6"),
    _commit("before", 1),
    Named("fenced"),
    Named("S5", nth=2),
    Named("S7"),
    Named("G6"),
]
_SAMPLE: list[Point] = [
    _commit("after", 1),  # the ledger row is opened, and nobody knows
    _commit("after", 2),  # staged, and nobody knows
    Named("S5"),
    _commit("before", 3),
    _commit("after", 3),  # published, and nobody knows
    Named("S7"),  # of the replay, which is skipped
    Named("S4", nth=2),
    Named("fenced"),
]
CHAINS: dict[str, Chain] = {
    "sample": Chain(shape="append", points=_SAMPLE),
    "append": Chain(shape="append", points=_FIRST + _BATCHES),
    "merge": Chain(shape="merge", points=_BATCHES),
    "counts": Chain(shape="counts", points=_WITH_STATE, settings=STATES["rocksdb2"]),
}
_UNGUARDED: list[Point] = [
    Rename("after", "offsets/0"),
    _commit("before", 1),
    _commit("after", 1),
    Rename("before", "commits/1"),
    Rename("before", "commits/2"),
    _commit("after", 2),
]
UNGUARDED: dict[str, Chain] = {
    "by-toTable": Chain(shape=NATIVE, points=_UNGUARDED),
    "by-foreachBatch": Chain(shape=PLAIN, points=_UNGUARDED),
}
"""What is beside it for comparison: what they lose and duplicate is counted, and no failure."""
PAUSES: tuple[Point, ...] = (
    Named("S2", nth=2),
    Named("S3"),
    Named("S4", nth=2),
    Named("S5"),
    Named("S6"),
    Named("fenced"),
    Named("G3"),
)
"""Where a driver is paused past its lease, replaced by a second one, and resumed."""


def run_chain(
    name: str, chain: Chain, postgres: Postgres, *, directory: Path, is_rest: bool = False
) -> tuple[Drilled, Sequence[str]]:
    """Kill a stream of its own at each point in turn, while a reader looks.

    Beside what the drill showed come the damaged files that looks found in what is not guarded.
    """
    work = make_workload(directory / "work", postgres, chain.shape, is_rest=is_rest)
    with work.proxies() as (proxy,):
        drilled = run_drill(
            name,
            Driven(work=work, driver=work.driver(proxy, settings=chain.settings)),
            list(map(work.point, chain.points)),
            directory=directory / "history",
            reading=partial(polling_reader, work.look),
        )
    return drilled, work.damaged


def pause(point: Point, postgres: Postgres, *, directory: Path, is_rest: bool = False) -> str:
    """Pause a driver past its lease, let a second one finish, and resume the first.

    Raises:
        AssertionError: Something is lost or duplicated, or the first driver ended well.
    """
    work = make_workload(directory / "work", postgres, "append", is_rest=is_rest)
    with work.proxies(2) as (proxy, other):
        first, second = work.driver(proxy, directory="first"), work.driver(other, directory="2nd")
        return pause_and_replace(point, first, second, work=work)


def lose_answer(
    nth: int, when: str, postgres: Postgres, *, directory: Path, is_rest: bool = False
) -> str:
    """Cut the connection to the catalog in a commit, before it goes through or before its answer.

    The driver may end by it; it is started again then.

    Raises:
        AssertionError: Something is lost or duplicated.
    """
    work = make_workload(directory / "work", postgres, "append", files=4, is_rest=is_rest)
    with work.proxies() as (proxy,):
        driver = work.driver(proxy)
        request = REST_COMMIT if is_rest else COMMIT
        happened = proxy.at(request, "cut" if when == "before" else "swallow", nth=nth)
        driver.striker = None
        with driver.start() as running:
            status = running.wait().status
        happened.wait(seconds=1)
        driver.run_to_end()
        judge(work)
    how = "ended well" if status == 0 else "was started again"
    return f"{when} commit {nth} the connection was cut: the driver {how}; exact"
