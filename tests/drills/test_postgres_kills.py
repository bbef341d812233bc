"""A guarded stream killed between its steps: nothing lost or duplicated, no part of a batch seen.

The chains whole are `python -m campaigns.kills`; here a sample of two of them runs.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from campaigns.judging import assert_passed
from campaigns.kills.postgres import CHAINS, Chain, Servers, run
from campaigns.outcome import looks_of
from holdfast.drills.history import History
from holdfast.drills.kill import Named
from lab import S3, Kafka, Postgres

SAMPLES = {
    "kafka-append": 3,
    "kafka-counts-hdfs": 3,
    "kafka-windows-rocksdb2": 2,
    "kafka-append-on-s3": 4,
    "kafka-append-by-a-task": 2,
    "kafka-append-in-parallel": 3,
    "kafka-merge-pooled": 3,
}
"""Of what the built-in drills do not have: Kafka as source, a pool, S3, tasks, other state."""


@pytest.fixture
def servers(
    kafka: Kafka, postgres: Postgres, *, s3: S3, name: str, request: pytest.FixtureRequest
) -> Servers:
    """The servers; a pool only for the chain that needs one."""
    pool = request.getfixturevalue("pgbouncer") if CHAINS[name].pooled else None
    return Servers(kafka=kafka, postgres=postgres, s3=s3, pool=pool)


def sampled(chain: Chain, number: int, seed: int) -> Chain:
    """Return the chain with so many of its points, in their order."""
    places = sorted(random.Random(seed).sample(range(len(chain.points)), number))
    # What moves an orphan aside is reached only after the kill that leaves one. What drops tables
    # that wait is reached only after others that leave some.
    drawn = [
        chain.points[place]
        for place in places
        if (chain.points[place] != Named("orphan-copied") or place - 1 in places)
        and "DROP TABLE" not in str(chain.points[place])
    ]
    return replace(chain, points=drawn)


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_exact_under_a_sample_of_kills(
    servers: Servers, name: str, *, tmp_path: Path, seed: int
) -> None:
    chain = sampled(CHAINS[name], SAMPLES[name], seed)
    drilled = run(name, chain, servers, directory=tmp_path)
    assert_passed(drilled.checked)
    assert looks_of(History(drilled.directory))
