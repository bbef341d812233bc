"""The whole sensors pipeline under kills: all tables are exact, also those of stages with state.

Many more, with servers among them, are `python -m campaigns.pipeline_kills`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.judging import assert_passed
from campaigns.outcome import differences_of, kills_of
from campaigns.pipeline_kills import SINKS, Plan, Servers, run
from lab import S3, Kafka, Postgres
from lab.faults.s3_proxy import S3Proxy

KILLS = 1


@pytest.mark.usefixtures("class_archive")
def test_the_pipeline_is_exact_after_kills_wherever_they_come(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, *, s3: S3, tmp_path: Path, seed: int
) -> None:
    plan = Plan(messages=20_000, kills=KILLS, server_kills=0, seed=seed)
    with S3Proxy(s3.port) as proxy:
        servers = Servers(kafka=kafka, postgres=postgres, s3=s3, proxy=proxy)
        ran = run(plan, servers, tmp_path)
    assert_passed(ran.judge(spark))
    found = differences_of(ran.recording.history)
    assert kills_of(ran.recording.history) == KILLS
    assert (found["raw"].expected, len(found)) == (plan.messages, SINKS)
