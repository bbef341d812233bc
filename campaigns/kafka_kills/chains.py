"""Where guarded streams into Kafka are killed, and how a chain of kills runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from campaigns.kafka_kills.workload import Workload, make_workload
from campaigns.kills import postgres_points
from campaigns.pausing import pause_and_replace
from campaigns.streams.driven import Driven
from holdfast.drills.builtin.cells import STATES
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill import Driver, Named, Point, Rename
from holdfast.drills.polling_reader import polling_reader
from lab import Kafka
from lab.spark import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    shape: str
    points: Sequence[Point]
    settings: Mapping[str, str] = field(default_factory=dict)


CHAINS: dict[str, Chain] = {
    "sample": Chain(
        shape="appended",
        points=(
            Named("G3"),
            Named("fenced"),  # the fence is at the broker, and not committed
            Named("G5"),
            Named("S2"),
            Named("copying"),
            Named("S4"),
            Named("S5"),  # everything is at the broker, and not committed
            Named("S6"),
            Named("S7"),  # of the replay, which is skipped
            Rename("before", "commits/0"),
            Named("S5", nth=2),
            Named("S6"),
            Named("G3"),
            Named("fenced"),
        ),
    ),
    "append": Chain(shape="appended", points=postgres_points.STATELESS),
    "counts": Chain(
        shape="counts",
        points=postgres_points.with_state(".zip"),
        settings=STATES["rocksdb2"],
    ),
}
PAUSES: tuple[Point, ...] = (
    Named("S1", nth=2),
    Named("S2", nth=2),
    Named("S3"),
    Named("copying"),
    Named("S4"),
    Named("S5", nth=2),
    Named("S6"),
    Named("fenced"),
    Named("G3"),
)
"""Where a driver is paused past its lease, replaced by a second one, and resumed."""


def driver_of(work: Workload, directory: Path, settings: Mapping[str, str] | None = None) -> Driver:
    """Return a driver of a stream."""
    servers = {"KAFKA_SERVERS": work.kafka.address}
    return Driver(
        work.program(str(directory.parent / "streams")),
        environment={**environment(directory, dict(settings or {})), **servers},
        directory=directory / "runs",
    )


def run_chain(name: str, chain: Chain, kafka: Kafka, *, directory: Path) -> Drilled:
    """Kill a stream of its own at each point in turn, while a reader looks."""
    work = make_workload(kafka, chain.shape)
    return run_drill(
        name,
        Driven(work=work, driver=driver_of(work, directory / "driver", chain.settings)),
        list(chain.points),
        directory=directory / "history",
        reading=partial(polling_reader, work.watch),
    )


def pause(point: Point, kafka: Kafka, *, directory: Path) -> str:
    """Pause a driver past its lease, let a second one finish, and resume the first.

    Raises:
        AssertionError: Something is lost or duplicated, or the first driver ended well.
    """
    work = make_workload(kafka, "appended")
    first, second = (driver_of(work, directory / name) for name in ("first", "second"))
    return pause_and_replace(point, first, second, work=work)
