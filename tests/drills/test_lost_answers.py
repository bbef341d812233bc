"""Commits that landed and whose answer was lost or an error: recognised, and nothing is duplicated.

A hundred and fifty of them, and S3, are `python -m campaigns.lost_answers`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.lost_answers.in_postgres import LANDED, NEVER_ARRIVED
from campaigns.lost_answers.scenes import Lab, fail_on_disk, lose_in_postgres, lose_in_task
from campaigns.streams.postgres_shapes import APPENDED, MERGED
from lab import Kafka, Postgres


def test_a_lost_answer_of_postgresql_is_settled_by_the_ledger(
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setenv("READINGS_DSN", "")  # so that it is as before afterwards
    choose = random.Random(seed)
    lab = Lab(spark=spark, kafka=kafka, postgres=postgres, directory=tmp_path)
    lost = lose_in_postgres(lab, choose.choice([APPENDED, MERGED]), 2, choose=choose)
    assert lost.faults == {LANDED: 2, NEVER_ARRIVED: 2}
    assert lose_in_task(lab, 1).faults == {LANDED: 1}


def test_an_error_after_a_commit_of_delta_is_settled_by_its_log(
    spark: SparkSession, *, tmp_path: Path, seed: int
) -> None:
    shape = random.Random(seed).choice(["appended", "merged"])
    assert fail_on_disk(spark, tmp_path / "stream", shape, faults=2).faults == 2
