"""The page about deleting a checkpoint quotes what real Spark does."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.deleted_checkpoint import play
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/why-not-delete-it.md").read_text()


def test_spark_does_what_the_page_quotes(spark: SparkSession, tmp_path: Path) -> None:
    assert "\n".join(play(spark, tmp_path)) in PAGE
