"""A batch of two sinks is replayed by real Spark: both get the rows that it has now."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

import holdfast as hf
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from tests.spark.file_stream import Stream

DSN = "HOLDFAST_REPLAYED_DSN"
TABLES = ("first", "second")


def corrected(source: DataFrame, factor: Path) -> DataFrame:
    """Return rows with a value that is looked up in a file, so that every batch is materialised."""
    path = str(factor)
    look_up = udf(lambda value: f"{value} by {Path(path).read_text()}", "string")
    return source.select("value", look_up("value").alias("found"))


def test_both_sinks_get_the_corrected_rows(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factor = tmp_path / "factor"
    monkeypatch.setenv(DSN, stream.dsn)
    for table in TABLES:
        stream.execute(f"CREATE TABLE {table} (value text PRIMARY KEY, found text)")
    sinks = [hf.Postgres(f"env:{DSN}", table=each, keys=["value"]) for each in TABLES]

    def run() -> None:
        stream.run(df=corrected(stream.source, factor), into=sinks)

    factor.write_text("1")
    run()
    factor.write_text("666")
    stream.add(3)
    run()
    factor.write_text("1")
    looks = DiagnoseRequest(location="readings", root=str(stream.root))
    plan = make_plan(Request(goal="replay", output="restore"), looks)
    assert isinstance(plan, Plan), plan
    apply_plan(plan, Stores(), allowed=plan.words)
    run()
    expected = sorted((f"row {number}", f"row {number} by 1") for number in range(4))
    with psycopg.connect(stream.dsn) as connection:
        first = connection.execute("SELECT value, found FROM first").fetchall()
        second = connection.execute("SELECT value, found FROM second").fetchall()
    assert (sorted(first), sorted(second)) == (expected, expected)
