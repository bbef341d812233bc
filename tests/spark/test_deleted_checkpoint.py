"""The page about deleting a checkpoint quotes what real Spark does."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.deleted_checkpoint import play
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/why-not-delete-it.md").read_text()

pytestmark = pytest.mark.sampled(1)
"""A minute; `HOLDFAST_ALL=1` runs it. A cell of `campaigns.five_steps` is drawn in its place."""


def test_spark_does_what_the_page_quotes(spark: SparkSession, tmp_path: Path) -> None:
    assert "\n".join(play(spark, tmp_path)) in PAGE
