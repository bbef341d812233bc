"""A guarded stream killed between its steps: nothing lost or doubled, no part of a batch seen.

The chains whole are `python -m benchmarks.guard_kills`; here a sample of two of them runs.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.guard_kills import CHAINS, Chain, Servers, run
from holdfast.drills.kill import Named
from lab import S3, Kafka, PgBouncer, Postgres

SAMPLES = {
    "appended": 3,
    "counts-hdfs": 3,
    "windows-rocksdb-format-2": 2,
    "on-s3": 4,
    "by-a-task": 2,
    "pooled": 3,
}
"""Of what the known drills do not have: Kafka as source, a pool, S3, one task, other state."""


@pytest.fixture
def servers(kafka: Kafka, postgres: Postgres, pgbouncer: PgBouncer, *, s3: S3) -> Servers:
    return Servers(kafka=kafka, postgres=postgres, s3=s3, pool=pgbouncer)


def sampled(chain: Chain, number: int, seed: int) -> Chain:
    """Return the chain with so many of its points, in their order."""
    places = sorted(random.Random(seed).sample(range(len(chain.points)), number))
    # What moves an orphan aside is reached only after the kill that leaves one.
    drawn = [
        chain.points[place]
        for place in places
        if chain.points[place] != Named("orphan-copied") or place - 1 in places
    ]
    return replace(chain, points=drawn)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_exact_under_a_sample_of_kills(
    servers: Servers, name: str, *, tmp_path: Path, seed: int
) -> None:
    chain = sampled(CHAINS[name], SAMPLES[name], seed)
    ran = run(chain, servers, tmp_path)
    assert [link.ended.fired for link in ran.links] == [*map(str, chain.points), None]
    assert ran.reader.polls
