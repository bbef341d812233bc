"""Where guarded streams into databases are killed, and how a chain of kills runs."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from campaigns.database_kills.places import make_database
from campaigns.database_kills.workload import TABLES, Workload, make_workload
from campaigns.judging import OF_ROWS, judge
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
OUTSIDE_SQLITE: tuple[Point, ...] = (Named("G5"), Named("S1", nth=2), Named("S6"), Named("S7"))
"""The same for SQLite: in none of these is a transaction open."""
INSIDE_SQLITE: tuple[Point, ...] = (Named("fenced"), Named("copying"), Named("S5", nth=2))
"""Where a driver that is paused keeps the file of SQLite."""


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


def pause(point: Point, kafka: Kafka, *, server: MariaDB | None, directory: Path) -> str:
    """Pause a driver past its lease, let a second one finish, and resume the first.

    Args:
        point: Where it is paused.
        kafka: Has the source.
        server: Of MariaDB; without one the stream goes into a file of SQLite.
        directory: Of the drivers, and for the file.

    Raises:
        AssertionError: Something is lost or duplicated, or the first driver ended well.
    """
    work, drivers = _paused_stream(kafka, server, directory)
    return pause_and_replace(point, *drivers, work=work)


def pause_inside(point: Point, kafka: Kafka, *, directory: Path) -> str:
    """Pause a driver within its transaction of SQLite: a second one is refused, a third ends.

    Raises:
        AssertionError: Something is lost or duplicated, or the second driver was not refused.
    """
    work, (first, second) = _paused_stream(kafka, None, directory)
    with first.start(point, strike=signal.SIGSTOP) as sleeper:
        sleeper.wait_until_halted()
        refused = second.start().wait()
        assert refused.status != 0, f"{point}: a second driver ended well"
        assert "SQLITE_BUSY" in refused.log.read_text(), f"{point}: not refused as busy"
        judge(work, checks=OF_ROWS)
        sleeper.resume()
        ended = sleeper.wait()
    judge(work, checks=OF_ROWS)
    second.run_to_end()
    judge(work)
    how = f"the first then ended with {ended.status}"
    return f"paused at {point} inside a transaction: the second was refused, {how}; exact"


def _paused_stream(
    kafka: Kafka, server: MariaDB | None, directory: Path
) -> tuple[Workload, tuple[Driver, Driver]]:
    directory.mkdir(parents=True, exist_ok=True)
    kind = "sqlite" if server is None else "mariadb"
    database = make_database(kind, TABLES["appended"], server=server, directory=directory)
    work = make_workload(kafka, database, shape="appended")
    return work, (driver_of(work, directory / "first"), driver_of(work, directory / "second"))
