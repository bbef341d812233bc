"""Kills between every two steps of a guarded stream, Kafka to PostgreSQL, with and without state.

    python -m benchmarks.guard_kills [CHAIN...]

Each chain strikes the guard (G1 to G8), Spark's own entries and the sink (S1 to S7), and the
recovery from each of these. After every death the table holds exactly the batches that the ledger
tells of; at the end every row exactly once. Meanwhile a reader looks ten times a second and must
never see a part of a batch.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import guard_points
from benchmarks.chains import Ran, describe, describe_bound, run_beside
from benchmarks.guard_reader import PostgresReader
from benchmarks.guard_shapes import APPENDED, COUNTS, MERGED, WINDOWS, Shape
from benchmarks.guard_workload import make_workload
from holdfast.drills.kill import Driver, Point, S3Proxy
from holdfast.drills.known.cells import STATES
from lab import S3, Kafka, PgBouncer, Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    shape: Shape
    points: list[Point]
    settings: Mapping[str, str] = field(default_factory=dict)
    on_s3: bool = False
    pooled: bool = False
    """Whether it reaches PostgreSQL through a pool of transactions."""


CHAINS: dict[str, Chain] = {
    "appended": Chain(shape=APPENDED, points=guard_points.STATELESS),
    "merged": Chain(shape=MERGED, points=guard_points.STATELESS),
    "counts-hdfs": Chain(shape=COUNTS, points=guard_points.with_state(".delta")),
    "counts-rocksdb": Chain(
        shape=COUNTS, points=guard_points.with_state(".zip"), settings=STATES["rocksdb"]
    ),
    "counts-rocksdb-format-2": Chain(
        shape=COUNTS, points=guard_points.with_state(".zip"), settings=STATES["rocksdb2"]
    ),
    "windows-rocksdb-format-2": Chain(
        shape=WINDOWS, points=guard_points.with_state(".zip"), settings=STATES["rocksdb2"]
    ),
    "on-s3": Chain(shape=APPENDED, points=guard_points.ON_S3, on_s3=True),
    "by-a-task": Chain(
        shape=APPENDED,
        points=guard_points.BY_A_TASK,
        settings={"spark.holdfast.driverBatchBytes": "1"},
    ),
    "pooled": Chain(shape=MERGED, points=guard_points.POOLED, pooled=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What the chains run on; S3 and the pool only where a chain needs them."""

    kafka: Kafka
    postgres: Postgres
    s3: S3 | None = None
    pool: PgBouncer | None = None


def run(chain: Chain, servers: Servers, directory: Path) -> Ran:
    """Run a chain on a stream of its own, beside a reader.

    Raises:
        AssertionError: Something was lost or doubled, or the reader saw a part of a batch.
        KillDidNotFireError, DriverFailedError: A run did not end as it should.
    """
    work = make_workload(servers.kafka, servers.postgres, chain.shape)
    with ExitStack() as stack:
        settings, proxy, root = dict(chain.settings), None, str(directory / "streams")
        dsn = work.dsn
        if chain.on_s3:
            assert servers.s3 is not None
            proxy = stack.enter_context(S3Proxy(servers.s3.port))
            settings |= servers.s3.spark_settings(port=proxy.port)
            root = f"s3a://lake/{work.topic}"
        if chain.pooled:
            assert servers.pool is not None
            dsn = servers.pool.through(dsn)
        driver = Driver(
            work.program(root),
            environment={**environment(directory, settings), "READINGS_DSN": dsn},
            directory=directory / "runs",
            s3_proxy=proxy,
        )
        return run_beside(PostgresReader(work, dsn=dsn), driver, chain.points, work=work)


def main(names: list[str]) -> None:
    """Run the chains, and print of each what was lost and doubled."""
    ensure_archive()
    kills = 0
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        postgres = stack.enter_context(Postgres())
        servers = Servers(
            kafka=stack.enter_context(Kafka()),
            postgres=postgres,
            s3=stack.enter_context(S3()),
            pool=stack.enter_context(PgBouncer(postgres)),
        )
        for name in names or CHAINS:
            ran = run(CHAINS[name], servers, scratch / name)
            kills += ran.kills
            print(f"{name}: {describe(ran)}", flush=True)
    print(describe_bound(kills))


if __name__ == "__main__":
    main(sys.argv[1:])
