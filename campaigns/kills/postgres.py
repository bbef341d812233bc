"""Guarded streams from Kafka into PostgreSQL, killed between every two steps.

Each chain strikes the guard (G1 to G8), Spark's own entries and the sink (S1 to S7), and the
recovery from each of these: with and without state, on S3, behind a pool, by one task,
and by two at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from campaigns.kills import postgres_points
from campaigns.streams.driven import Driven
from campaigns.streams.postgres_shapes import (
    APPENDED,
    ATTACHED,
    COUNTS,
    MERGED,
    WINDOWS,
    Shape,
)
from campaigns.streams.postgres_workload import make_workload
from holdfast.drills.builtin.cells import STATES
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill import Driver, Point
from holdfast.drills.polling_reader import polling_reader
from lab import S3, Kafka, PgBouncer, Postgres
from lab.azurite import Azurite
from lab.faults.s3_proxy import S3Proxy
from lab.gcs import Gcs
from lab.hdfs import Hdfs
from lab.spark import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """One stream and where it is killed."""

    shape: Shape
    points: list[Point]
    settings: Mapping[str, str] = field(default_factory=dict)
    on: Literal["disk", "s3", "hdfs", "azure", "gcs"] = "disk"
    """Where the root is."""
    pooled: bool = False
    """Whether it reaches PostgreSQL through a pool of transactions."""


CHAINS: dict[str, Chain] = {
    "kafka-append": Chain(shape=APPENDED, points=postgres_points.STATELESS),
    "kafka-merge": Chain(shape=MERGED, points=postgres_points.STATELESS),
    "kafka-counts-hdfs": Chain(shape=COUNTS, points=postgres_points.with_state(".delta")),
    "kafka-counts-rocksdb": Chain(
        shape=COUNTS, points=postgres_points.with_state(".zip"), settings=STATES["rocksdb"]
    ),
    "kafka-counts-rocksdb2": Chain(
        shape=COUNTS, points=postgres_points.with_state(".zip"), settings=STATES["rocksdb2"]
    ),
    "kafka-windows-rocksdb2": Chain(
        shape=WINDOWS, points=postgres_points.with_state(".zip"), settings=STATES["rocksdb2"]
    ),
    "kafka-append-on-s3": Chain(shape=APPENDED, points=postgres_points.ON_S3, on="s3"),
    "kafka-append-on-hdfs": Chain(shape=APPENDED, points=postgres_points.NAMED, on="hdfs"),
    "kafka-counts-on-hdfs": Chain(
        shape=COUNTS,
        points=postgres_points.NAMED,
        settings=STATES["rocksdb"],
        on="hdfs",
    ),
    "kafka-append-on-azure": Chain(shape=APPENDED, points=postgres_points.NAMED, on="azure"),
    "kafka-append-on-gcs": Chain(shape=APPENDED, points=postgres_points.NAMED, on="gcs"),
    "kafka-append-by-a-task": Chain(
        shape=APPENDED,
        points=postgres_points.BY_A_TASK,
        settings={"spark.holdfast.driverBatchBytes": "1"},
    ),
    "kafka-append-in-parallel": Chain(shape=ATTACHED, points=postgres_points.IN_PARALLEL),
    "kafka-merge-pooled": Chain(shape=MERGED, points=postgres_points.POOLED, pooled=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What the chains run on; stores and the pool only where a chain needs them."""

    kafka: Kafka
    postgres: Postgres
    s3: S3 | None = None
    hdfs: Hdfs | None = None
    azurite: Azurite | None = None
    gcs: Gcs | None = None
    pool: PgBouncer | None = None


def run(name: str, chain: Chain, servers: Servers, *, directory: Path) -> Drilled:
    """Kill a stream of its own at each point in turn, while a reader looks."""
    work = make_workload(servers.kafka, servers.postgres, chain.shape)
    with ExitStack() as stack:
        settings, proxy, root = dict(chain.settings), None, str(directory / "streams")
        dsn = work.dsn
        if chain.on == "s3":
            assert servers.s3 is not None
            proxy = stack.enter_context(S3Proxy(servers.s3.port))
            settings |= servers.s3.spark_settings(port=proxy.port)
            root = f"s3a://lake/{work.topic}"
        elif chain.on != "disk":
            of_store, bucket = _reach_store(chain, servers)
            settings |= of_store
            root = f"{bucket}/{work.topic}"
        if chain.pooled:
            assert servers.pool is not None
            dsn = servers.pool.through(dsn)
        driver = Driver(
            work.program(root),
            environment={**environment(directory, settings), "READINGS_DSN": dsn},
            directory=directory / "runs",
            striker=proxy,
        )
        return run_drill(
            name,
            Driven(work=work, driver=driver),
            chain.points,
            directory=directory / "history",
            reading=partial(polling_reader, partial(work.count, dsn)),
        )


def _reach_store(chain: Chain, servers: Servers) -> tuple[dict[str, str], str]:
    """Return the settings with which Spark reaches a chain's store, and the place in it."""
    if chain.on == "hdfs":
        assert servers.hdfs is not None
        return servers.hdfs.spark_settings(), servers.hdfs.address
    store = servers.azurite if chain.on == "azure" else servers.gcs
    assert store is not None
    return store.spark_settings(), store.root
