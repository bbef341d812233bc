"""Each remedy that a finding offers is carried out; a sample of `campaigns.remedies`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.remedies.families import find_remedies
from campaigns.remedies.remedy import Bench, Remedy, find_problems
from campaigns.remedies.streams import DSN
from lab import Postgres

pytestmark = pytest.mark.sampled(2)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    def database() -> str:
        postgres: Postgres = request.getfixturevalue("postgres")
        return postgres.create_database(f"remedy_{uuid.uuid4().hex[:12]}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DSN, "")  # set by the streams; taken back afterwards
        yield Bench(
            spark=spark,
            place=tmp_path,
            database=database,
            kafka=lambda: request.getfixturevalue("kafka"),
        )


@pytest.mark.parametrize("remedy", find_remedies(), ids=lambda each: each.name)
def test_a_remedy_ends_as_it_says(remedy: Remedy, bench: Bench) -> None:
    assert list(find_problems(remedy, remedy.carry_out(bench, remedy.code))) == []
