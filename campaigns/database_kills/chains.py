"""Where guarded streams into databases are killed, and how a chain of kills runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from campaigns.database_kills.places import make_database
from campaigns.database_kills.workload import TABLES, Workload, make_workload
from campaigns.kafka_kills.chains import CHAINS as KAFKA_CHAINS
from campaigns.kills import postgres_points
from campaigns.pausing import pause_and_replace
from campaigns.streams.driven import Driven
from holdfast.drills.builtin.cells import STATES
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill import Driver, Named, Point
from holdfast.drills.polling_reader import polling_reader
from lab import Kafka
from lab.mariadb import MariaDB
from lab.spark import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    kind: str
    shape: str
    points: Sequence[Point]
    settings: Mapping[str, str] = field(default_factory=dict)


_SAMPLE = tuple(KAFKA_CHAINS["sample"].points)
CHAINS: dict[str, Chain] = {
    "mariadb-append": Chain(kind="mariadb", shape="appended", points=_SAMPLE),
    "mariadb-load": Chain(kind="load", shape="appended", points=_SAMPLE),
    "mariadb-merge": Chain(kind="mariadb", shape="merged", points=_SAMPLE),
    "sqlite-append": Chain(kind="sqlite", shape="appended", points=_SAMPLE),
    "mariadb-whole": Chain(kind="mariadb", shape="merged", points=postgres_points.STATELESS),
    "mariadb-counts": Chain(
        kind="mariadb",
        shape="counts",
        points=postgres_points.with_state(".zip"),
        settings=STATES["rocksdb2"],
    ),
}
PAUSES: tuple[Point, ...] = (
    Named("S1", nth=2),
    Named("S2", nth=2),
    Named("copying"),
    Named("S5", nth=2),
    Named("S6"),
    Named("fenced"),
)
"""Where a driver is paused past its lease, replaced by a second one, and resumed."""


def driver_of(work: Workload, directory: Path, settings: Mapping[str, str] | None = None) -> Driver:
    """Return a driver of a stream."""
    url = {"SERVING_URL": work.database.url}
    return Driver(
        work.program(str(directory.parent / "streams")),
        environment={**environment(directory, dict(settings or {})), **url},
        directory=directory / "runs",
    )


def run_chain(
    name: str, chain: Chain, kafka: Kafka, *, server: MariaDB | None, directory: Path
) -> Drilled:
    """Kill a stream of its own at each point in turn, while a reader looks."""
    directory.mkdir(parents=True, exist_ok=True)
    table = TABLES[chain.shape]
    database = make_database(chain.kind, table, server=server, directory=directory)
    work = make_workload(kafka, database, shape=chain.shape)
    return run_drill(
        name,
        Driven(work=work, driver=driver_of(work, directory / "driver", chain.settings)),
        list(chain.points),
        directory=directory / "history",
        reading=partial(polling_reader, work.watch),
    )


def pause(point: Point, kafka: Kafka, *, server: MariaDB, directory: Path) -> str:
    """Pause a driver past its lease, let a second one finish, and resume the first.

    Raises:
        AssertionError: Something is lost or duplicated, or the first driver ended well.
    """
    table = TABLES["appended"]
    database = make_database("mariadb", table, server=server, directory=directory)
    work = make_workload(kafka, database, shape="appended")
    first, second = (driver_of(work, directory / name) for name in ("first", "second"))
    return pause_and_replace(point, first, second, work=work)
