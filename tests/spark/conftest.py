"""What the tests on real Spark share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from lab import Kafka, Postgres
from tests.spark.backfill_gap import Gap
from tests.spark.file_stream import Stream


@pytest.fixture(autouse=True)
def stop_queries(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stop what a test that failed has left running.

    Every later test that waits until leases are released would wait a minute for each query.
    """
    yield
    if "spark" in request.fixturenames:
        for query in request.getfixturevalue("spark").streams.active:
            query.stop()


@pytest.fixture
def stream(spark: SparkSession, postgres: Postgres, tmp_path: Path) -> Stream:
    dsn = postgres.create_database(f"start_{uuid.uuid4().hex[:12]}")
    (tmp_path / "in").mkdir()
    found = Stream(spark=spark, root=tmp_path / "streams", files=tmp_path / "in", dsn=dsn)
    found.execute("CREATE TABLE readings (value text)")
    for number in range(3):
        found.add(number)
    return found


@pytest.fixture
def gap(
    *,
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Gap:
    name = f"backfill_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=2)
    dsn = postgres.create_database(name)
    monkeypatch.setenv("BACKFILL_DSN", dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE readings (key bigint, number bigint)")
    return Gap(spark=spark, kafka=kafka, dsn=dsn, place=tmp_path, topic=name)
