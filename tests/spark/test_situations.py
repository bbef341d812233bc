"""What a rule says of a restart is what Spark then does; a sample of `campaigns.situations`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.situations.families import find_situations
from campaigns.situations.situation import Bench, Situation, find_problems

pytestmark = pytest.mark.sampled(4)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Bench:
    return Bench(spark=spark, place=tmp_path, kafka=lambda: request.getfixturevalue("kafka"))


@pytest.mark.parametrize("situation", find_situations(), ids=lambda each: each.name)
def test_spark_does_what_was_said(situation: Situation, bench: Bench) -> None:
    assert list(find_problems(situation, situation.make(bench))) == []
