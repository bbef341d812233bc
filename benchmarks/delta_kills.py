"""Kills between every two steps of a guarded stream into Delta, on disk and on S3.

    python -m benchmarks.delta_kills [CHAIN...]

Appended, merged, with state, and into two tables at once. After every death each table holds
exactly the batches that the ledger in its log tells of; at the end every row exactly once, and two
tables the same rows. Meanwhile a reader looks five times a second, at log and files, and must never
see a part of a batch.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import delta_points
from benchmarks.chains import Ran, describe, describe_bound, run_beside
from benchmarks.delta_reader import DeltaReader
from benchmarks.delta_workload import make_workload
from holdfast.drills.kill import Driver, Point, S3Proxy
from holdfast.drills.known.cells import STATES
from lab import S3
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    shape: str
    points: list[Point] = field(default_factory=lambda: delta_points.ON_DISK)
    settings: Mapping[str, str] = field(default_factory=dict)
    on_s3: bool = False


CHAINS = {
    "appended": Chain(shape="appended"),
    "merged": Chain(shape="merged"),
    "counts-rocksdb": Chain(shape="counts", settings=STATES["rocksdb"]),
    "counts-rocksdb-format-2": Chain(shape="counts", settings=STATES["rocksdb2"]),
    "fan-out": Chain(shape="fan_out", points=delta_points.FAN_OUT),
    "appended-on-s3": Chain(shape="appended", points=delta_points.ON_S3, on_s3=True),
    "merged-on-s3": Chain(shape="merged", points=delta_points.ON_S3, on_s3=True),
}


def run(chain: Chain, directory: Path, *, s3: S3 | None = None) -> Ran:
    """Run a chain on a stream of its own, beside a reader.

    Raises:
        AssertionError: Something was lost or doubled, or the reader saw a part of a batch.
        KillDidNotFireError, DriverFailedError: A run did not end as it should.
    """
    assert s3 is not None or not chain.on_s3
    work = make_workload(directory, chain.shape, s3=s3 if chain.on_s3 else None)
    with ExitStack() as stack:
        settings, proxy = {**chain.settings, **work.settings}, None
        if s3 is not None and chain.on_s3:
            proxy = stack.enter_context(S3Proxy(s3.port))
            settings |= s3.spark_settings(port=proxy.port)
        driver = Driver(
            work.program(),
            environment=environment(directory / "spark", settings),
            directory=directory / "runs",
            s3_proxy=proxy,
        )
        return run_beside(DeltaReader(work), driver, chain.points, work=work)


def main(names: list[str]) -> None:
    """Run the chains, and print of each what was lost and doubled."""
    ensure_archive()
    kills = 0
    with S3() as s3:
        for name in names or list(CHAINS):
            with scratch_directory() as scratch:
                ran = run(CHAINS[name], scratch, s3=s3)
                print(f"{name}: {describe(ran)}", flush=True)
            kills += ran.kills
    print(describe_bound(kills))


if __name__ == "__main__":
    main(sys.argv[1:])
