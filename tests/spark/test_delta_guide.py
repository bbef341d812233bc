"""The guide to Delta: its program runs, and the ledger that it shows is the one in the log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.house.repository import ROOT
from tests.spark.delta_streams import DeltaStream, differs
from tests.spark.file_stream import wait_until_given_up

PAGE = (ROOT / "docs/guides/delta.md").read_text()
PROGRAM, LOOKING = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(SHOWN,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_guide_is_followed(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = DeltaStream(
        spark, tmp_path / "in", tmp_path / "streams/readings", tmp_path / "lake/readings"
    )
    stream.add("a")
    here = re.sub(r'(["`])(in|streams|lake/readings)\1', rf"\1{tmp_path}/\2\1", PROGRAM + LOOKING)
    exec(compile(here, "delta.md", "exec"), {})
    wait_until_given_up()
    assert SHOWN.strip() in capsys.readouterr().out
    assert stream.judge("a") == differs(rows_in=1)
