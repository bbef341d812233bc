"""Chained kills through Kafka to PostgreSQL: nothing lost, nothing duplicated.

The whole chains are `python -m benchmarks.kill_cost`; here a sample of both runs.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from benchmarks.kill_cost import (
    ON_DISK,
    ON_S3,
    ROWS_PER_BATCH,
    Workload,
    chain_on_disk,
    chain_on_s3,
    make_workload,
)
from campaigns.judging import OF_ROWS, assert_passed, judge
from campaigns.outcome import cpu_seconds_per_kill, kills_of
from holdfast.drills.drill import Drilled
from holdfast.drills.history import History
from lab import S3, Kafka, Postgres


def check_chain(drilled: Drilled) -> None:
    """Every kill fired, and every row is there once. What it costs, the benchmark judges."""
    assert_passed(drilled.checked)
    history = History(drilled.directory)
    print(f"{cpu_seconds_per_kill(history):.1f} CPU s for each of {kills_of(history)} kills")


@pytest.mark.usefixtures("class_archive")
def test_kills_on_disk_lose_and_double_nothing(
    kafka: Kafka, postgres: Postgres, *, seed: int, tmp_path: Path
) -> None:
    places = sorted(random.Random(seed).sample(range(len(ON_DISK)), 4))
    points = [ON_DISK[place] for place in places]
    check_chain(chain_on_disk(make_workload(kafka, postgres), tmp_path, points))


@pytest.mark.usefixtures("class_archive")
def test_kills_at_s3_requests_lose_and_double_nothing(
    *, kafka: Kafka, postgres: Postgres, s3: S3, seed: int, tmp_path: Path
) -> None:
    points = sorted(random.Random(seed).sample(ON_S3, 2), key=ON_S3.index)
    check_chain(chain_on_s3(make_workload(kafka, postgres), tmp_path, points, s3=s3))


@pytest.fixture
def one_batch(kafka: Kafka, postgres: Postgres) -> Workload:
    """A table as it is after batch 0."""
    work = make_workload(kafka, postgres)
    with psycopg.connect(work.dsn) as connection:
        rows = "insert into readings select id, 0 from generate_series(0, %s) as id"
        connection.execute(rows, (ROWS_PER_BATCH - 1,))
        connection.execute("update ledger set last_batch = 0")
    return work


def test_the_judge_accepts_a_whole_batch_in_between_and_not_at_the_end(one_batch: Workload) -> None:
    judge(one_batch, checks=OF_ROWS)
    with pytest.raises(AssertionError, match="goes-on"):
        judge(one_batch)


@pytest.mark.parametrize(
    "damage",
    [
        "insert into readings values (0, 0)",
        "update readings set id = 1 where id = 0",
        "delete from readings where id = 7",
        "insert into readings values (5000, 1)",
        "update ledger set last_batch = 1",
        "update readings set id = -1 where id = 0",
    ],
)
def test_the_judge_finds_planted_damage(one_batch: Workload, damage: LiteralString) -> None:
    with psycopg.connect(one_batch.dsn) as connection:
        connection.execute(damage)
    with pytest.raises(AssertionError):
        judge(one_batch, checks=OF_ROWS)
