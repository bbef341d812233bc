"""The whole sensors pipeline under kills: all five tables are exact.

Many more, with servers among them, are `python -m benchmarks.pipeline_kills`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.pipeline_kills import Plan, Servers, run
from examples.sensors.judge import judge
from holdfast.drills.kill import S3Proxy
from lab import S3, Kafka, Postgres

KILLS = 1


@pytest.mark.usefixtures("class_archive")
def test_the_pipeline_is_exact_after_kills_wherever_they_come(
    spark: SparkSession, kafka: Kafka, postgres: Postgres, *, s3: S3, tmp_path: Path, seed: int
) -> None:
    plan = Plan(messages=20_000, kills=KILLS, server_kills=0, seed=seed)
    with S3Proxy(s3.port) as proxy:
        servers = Servers(kafka=kafka, postgres=postgres, s3=s3, proxy=proxy)
        ran = run(plan, servers, tmp_path)
    assert sum(ended.fired is not None for ended in ran.runs) == KILLS
    differences = judge(spark, ran.sensors, ran.sent)
    assert {name: found for name, found in differences.items() if not found.exact} == {}
    assert differences["raw"].expected == plan.messages
