"""A ledger row whose last batch was written as another range: corrected, and then contradicted."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.ledger.row import LedgerRow
from holdfast.streams.refusal import StartRefusedError
from lab import Postgres

TRUE_END = '{"0":{"logOffset":7}}'
BESIDE = "target, rows, witness, brought, query_id, checkpoint, nonce, epoch, last_batch"


@pytest.fixture(params=["postgres", "delta"])
def sink(
    request: pytest.FixtureRequest,
    postgres: Postgres,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> hf.SinkSpec:
    if request.param == "delta":
        return hf.Delta(path=str(tmp_path / "table"))
    dsn = postgres.create_database(f"corrected_{os.urandom(4).hex()}")
    monkeypatch.setenv("CORRECTED_DSN", dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE readings (value text)")
    return hf.Postgres("env:CORRECTED_DSN", table="readings")


def run(spark: SparkSession, sink: hf.SinkSpec, home: Path) -> None:
    """Add a file, and run the stream to its end."""
    (home / "in").mkdir(exist_ok=True)
    number = len(list((home / "in").iterdir()))
    (home / f"in/{number}.txt").write_text(f"row {number}\n")
    rows = spark.readStream.text(str(home / "in"))
    options = {"root": str(home / "root"), "trigger": {"availableNow": True}}
    hf.start(rows, stream="readings", into=sink, **options).awaitTermination()  # type: ignore[arg-type]


def beside(sink: hf.SinkSpec) -> object:
    """Return what PostgreSQL's ledger has beside the range."""
    if not isinstance(sink, hf.Postgres):
        return None
    with psycopg.connect(os.environ["CORRECTED_DSN"]) as connection:
        return connection.execute(f"SELECT {BESIDE} FROM holdfast.ledger").fetchall()


def test_a_corrected_row_refuses_every_start(
    sink: hf.SinkSpec, spark: SparkSession, tmp_path: Path
) -> None:
    run(spark, sink, tmp_path)
    run(spark, sink, tmp_path)
    ledger = sink.open_ledger(spark)
    assert ledger is not None
    row = ledger.read("readings")
    assert isinstance(row, LedgerRow)
    before, new = beside(sink), replace(row, end_offsets=TRUE_END, digest="of no entry")
    assert not ledger.correct(replace(row, epoch=row.epoch + 1), new), "it is another's row"
    assert ledger.read("readings") == row
    assert ledger.correct(row, new)
    assert ledger.read("readings") == new
    assert not ledger.correct(row, new), "it is not there any more"
    assert beside(sink) == before
    ledger.close()
    with pytest.raises(StartRefusedError) as refused:
        run(spark, sink, tmp_path)
    assert [finding.code for finding in refused.value.findings] == ["HF605"]


def test_a_row_is_not_corrected_in_a_table_that_others_have_emptied(
    sink: hf.SinkSpec, spark: SparkSession, tmp_path: Path
) -> None:
    """A commit of the stream would say that it has seen that."""
    if not isinstance(sink, hf.Delta):
        pytest.skip("a row of PostgreSQL says nothing of what was seen")
    run(spark, sink, tmp_path)
    spark.range(0).selectExpr("'' AS value").write.format("delta").mode("overwrite").save(sink.path)
    ledger = sink.open_ledger(spark)
    assert ledger is not None
    row = ledger.read("readings")
    assert isinstance(row, LedgerRow)
    assert not ledger.correct(row, replace(row, end_offsets=TRUE_END, digest="of no entry"))
    assert ledger.read("readings") == row
    ledger.close()
