"""Where guarded streams into files are killed, and how a chain of kills runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from campaigns.files_kills.places import Place
from campaigns.files_kills.workload import Workload, make_workload
from campaigns.kills import postgres_points
from campaigns.pausing import pause_and_replace
from campaigns.streams.driven import Driven
from holdfast.drills.builtin.cells import STATES
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill import Driver, Named, Point, Rename
from holdfast.drills.polling_reader import polling_reader
from lab.spark import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    shape: str
    points: Sequence[Point]
    on: Literal["disk", "hdfs", "cluster"] = "disk"
    """Where its output and its root are; on a cluster: on HDFS, with executors of their own."""
    settings: Mapping[str, str] = field(default_factory=dict)


_SAMPLE: tuple[Point, ...] = (
    Named("G3"),
    Named("fenced"),  # the ledger is there, and its driver knows of nothing
    Named("G5"),
    Named("S2"),
    Rename("before", ".parquet"),  # Spark moves a file out of its task's directory
    Named("copying"),  # all files are there, without their note
    Named("S4"),
    Named("S5"),  # in the token, not visible
    Rename("before", "hf_batch=readings.1.000000000"),
    Rename("after", "hf_batch=readings.1.000000000"),
    Named("S6"),  # visible, and Spark does not know it
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/1"),
    Named("S5", nth=2),
    Named("S6"),
    Named("G3"),
    Named("fenced"),
)
_MOVED = Rename("before", "part=0")  # with partitions Spark moves directories, and not files
_PARTITIONED = tuple(_MOVED if each == Rename("before", ".parquet") else each for each in _SAMPLE)
_NAMED = tuple(each for each in _SAMPLE if not isinstance(each, Rename))
_ON_A_CLUSTER = tuple(map(Named, ("S2", "copying", "S4", "S5", "S6")))
CHAINS: dict[str, Chain] = {
    "sample": Chain(shape="parquet", points=_SAMPLE),
    "json": Chain(shape="json", points=_NAMED),
    "csv": Chain(shape="csv", points=_NAMED),
    "partitioned": Chain(shape="partitioned", points=_PARTITIONED),
    "append": Chain(shape="parquet", points=postgres_points.STATELESS),
    "state": Chain(
        shape="distinct",
        points=postgres_points.with_state(".zip"),
        settings=STATES["rocksdb2"],
    ),
    "hdfs-sample": Chain(shape="parquet", points=_NAMED, on="hdfs"),
    "hdfs-cluster": Chain(shape="parquet", points=_ON_A_CLUSTER, on="cluster"),
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
PAUSES_ON_HDFS: tuple[Point, ...] = (Named("copying"), Named("S5", nth=2), Named("fenced"))
"""The same, of a driver on HDFS: it stages, it has the files in the token, it has just fenced."""


def driver_of(work: Workload, directory: Path, settings: Mapping[str, str] | None = None) -> Driver:
    """Return a driver of a stream."""
    return Driver(
        work.program(),
        environment=environment(directory, {**(settings or {}), **work.place.settings}),
        directory=directory / "runs",
    )


def run_chain(name: str, chain: Chain, *, directory: Path, place: Place | None = None) -> Drilled:
    """Kill a stream of its own at each point in turn, while readers look."""
    work = make_workload(directory / "lake", chain.shape, place=place)
    return run_drill(
        name,
        Driven(work=work, driver=driver_of(work, directory / "driver", chain.settings)),
        list(chain.points),
        directory=directory / "history",
        reading=partial(polling_reader, work.watch),
    )


def pause(point: Point, *, directory: Path, place: Place | None = None) -> str:
    """Pause a driver past its lease, let a second one finish, and resume the first.

    Raises:
        AssertionError: Something is lost or duplicated, or the first driver ended well.
    """
    work = make_workload(directory / "lake", "parquet", files=3, place=place)
    first, second = (driver_of(work, directory / name) for name in ("first", "second"))
    return pause_and_replace(point, first, second, work=work)
