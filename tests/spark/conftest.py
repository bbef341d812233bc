"""What the tests on real Spark share."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lab import Postgres
from tests.spark.file_stream import Stream


@pytest.fixture
def stream(spark: SparkSession, postgres: Postgres, tmp_path: Path) -> Stream:
    dsn = postgres.create_database(f"start_{uuid.uuid4().hex[:12]}")
    (tmp_path / "in").mkdir()
    found = Stream(spark=spark, root=tmp_path / "streams", files=tmp_path / "in", dsn=dsn)
    found.execute("CREATE TABLE readings (value text)")
    for number in range(3):
        found.add(number)
    return found
