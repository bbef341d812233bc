"""The page about claims of the web quotes what real Spark does."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.web_claims import play
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/what-the-web-says.md").read_text()


def test_spark_does_what_the_page_quotes(spark: SparkSession, tmp_path: Path) -> None:
    printed = "\n".join(play(spark, tmp_path)) + "\n"
    assert f"```text\n{printed}```" in PAGE
