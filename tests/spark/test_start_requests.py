"""What a guarded start asks S3 for is the same for a young stream and for an old one.

`python -m benchmarks.start_requests` counts the same at full size, with times.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.aged_stream import Age, AgedStream, end, query_of, run_three_batches
from benchmarks.start_requests import ours_of
from holdfast.spark.classic import adapter
from lab import S3, Postgres
from lab.faults.s3_proxy import S3Proxy, SeenRequest

YOUNG = Age(partitions=10, batches=50, starts=100)
Count = Callable[[Age], Counter[str]]


@pytest.fixture
def proxy(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Proxy]:
    """Stand between Holdfast's client and the store; Spark's own goes past it."""
    with S3Proxy(s3.port) as proxy:
        settings = s3.spark_settings(port=proxy.port)
        monkeypatch.setattr(adapter, "hadoop_settings", lambda _: settings)
        yield proxy


@pytest.fixture
def count(
    *, proxy: S3Proxy, s3: S3, spark: SparkSession, postgres: Postgres, tmp_path: Path
) -> Count:
    """Return what starts a stream of some age and counts Holdfast's requests."""
    checkpoint = run_three_batches(spark, tmp_path)
    frame = query_of(spark, tmp_path / "in")

    def count(age: Age) -> Counter[str]:
        name = uuid.uuid4().hex[:12]
        dsn = postgres.create_database(f"aged_{name}")
        stream = AgedStream(frame=frame, root=f"aged/{name}", dsn=dsn)
        stream.age(s3.store(), checkpoint, age)
        first = len(proxy.requests)
        query = stream.start()
        found = ours_of(once(proxy.requests[first:]), stream.root)
        end(query)
        return found

    return count


def once(requests: Sequence[SeenRequest]) -> list[SeenRequest]:
    """Leave out what a slow start repeats: heartbeats, and what the client sends again."""
    kept: list[SeenRequest] = []
    for each in requests:
        is_repeated = any(
            (each.method, each.path, each.query) == (other.method, other.path, other.query)
            for other in kept
        )
        if each.method == "GET" or not is_repeated:
            kept.append(each)
    return kept


@pytest.mark.parametrize(
    "old",
    [
        pytest.param(replace(YOUNG, starts=3_000), id="3,000 past starts"),
        pytest.param(replace(YOUNG, batches=1_500), id="1,500 batches kept"),
        pytest.param(replace(YOUNG, partitions=56), id="3,000 state objects"),
    ],
)
def test_an_old_stream_is_started_with_as_many_requests_as_a_young_one(
    count: Count, old: Age
) -> None:
    assert count(YOUNG) == count(old)
