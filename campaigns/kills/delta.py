"""Guarded streams into Delta, killed between every two steps: on disk, on S3, into two tables.

On disk they are the built-in streams, at points that their own phases do not have: between the
steps of a start, and in the fence. On S3 and into two tables at once no built-in stream writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from campaigns.kills import delta_points
from campaigns.streams.delta_workload import make_workload
from campaigns.streams.driven import Driven
from holdfast.drills.builtin.cells import BUILTIN, Cell, run_cell
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill import Driver, Point
from holdfast.drills.phases import Phase
from holdfast.drills.polling_reader import polling_reader
from lab import S3
from lab.faults.s3_proxy import S3Proxy
from lab.spark import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream of `guarded_to_delta` and where it is killed."""

    shape: str
    points: Sequence[Point]
    on_s3: bool = False


BUILTIN_CHAINS: dict[str, Sequence[Point]] = dict.fromkeys(
    ("delta-append", "delta-merge", "delta-counts-rocksdb", "delta-counts-rocksdb2"),
    delta_points.ON_DISK,
)
"""The built-in streams, by their names, and where each is killed."""
CHAINS = {
    "delta-fan-out": Chain(shape="fan_out", points=delta_points.FAN_OUT),
    "delta-append-on-s3": Chain(shape="appended", points=delta_points.ON_S3, on_s3=True),
    "delta-merge-on-s3": Chain(shape="merged", points=delta_points.ON_S3, on_s3=True),
}


def run_builtin(name: str, points: Sequence[Point], directory: Path) -> Drilled:
    """Kill a built-in stream at these points."""
    phase = Phase(name="steps", display_name="between every two steps", kills=tuple(points))
    return run_cell(Cell(stream=BUILTIN[name], phase=phase), directory=directory, dsn=None)


def run(name: str, chain: Chain, directory: Path, *, s3: S3) -> Drilled:
    """Kill a stream of its own at each point in turn, while a reader looks."""
    work = make_workload(directory, chain.shape, s3=s3 if chain.on_s3 else None)
    with ExitStack() as stack:
        settings, proxy = dict(work.settings), None
        if chain.on_s3:
            proxy = stack.enter_context(S3Proxy(s3.port))
            settings |= s3.spark_settings(port=proxy.port)
        driver = Driver(
            work.program(),
            environment=environment(directory / "spark", settings),
            directory=directory / "runs",
            striker=proxy,
        )
        return run_drill(
            name,
            Driven(work=work, driver=driver),
            chain.points,
            directory=directory / "history",
            reading=partial(polling_reader, work.reader()),
        )
