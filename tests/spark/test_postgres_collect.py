"""A batch on its way from Spark to PostgreSQL: all of it, or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.ledger import Apply, Skip
from holdfast.proof.multiset import compare
from holdfast.sinks.collect import (
    IncompleteBatchError,
    TooLargeError,
    _Stream,
    collected,
)
from holdfast.sinks.postgres.ledger_rows import read_row
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.writer import PostgresWriter
from lab import Postgres
from tests.ledger_rows import ROW, attempt
from tests.writers import open_writer

ROWS = 50_000
BUDGET = 1 << 30
BAD = 41_000
"""In the last of four partitions, and there in its second record batch of ten thousand rows."""


def numbers(spark: SparkSession, *, partitions: int = 4) -> DataFrame:
    return spark.range(0, ROWS, 1, partitions)


def failing(spark: SparkSession) -> DataFrame:
    """Rows whose last partition fails in its middle, long after the others are done."""

    @F.udf("long", useArrow=False)
    def fail(number: int) -> int:
        if number == BAD:
            raise ValueError("upstream")
        return number

    return numbers(spark).select(fail("id").alias("id"))


@pytest.fixture
def sink(spark: SparkSession, postgres: Postgres) -> Iterator[PostgresWriter]:
    dsn = postgres.create_database(f"collect_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE readings (id bigint)")
    sink = open_writer(PostgresSink(lambda: dsn, table="readings"), numbers(spark))
    assert sink.ledger.replace(None, ROW)
    yield sink
    sink.close()


def content(sink: PostgresWriter) -> list[int]:
    return [row[0] for row in sink.ledger.session.connection().execute("SELECT id FROM readings")]


@pytest.mark.parametrize("partitions", [1, 4, 13])
def test_every_row_comes_once(spark: SparkSession, partitions: int) -> None:
    with collected(numbers(spark, partitions=partitions), budget=BUDGET) as batches:
        found = [value for batch in batches for value in batch.column(0).to_pylist()]
    assert compare(range(ROWS), found).exact


def test_no_rows_are_no_record_batches(spark: SparkSession) -> None:
    with collected(numbers(spark).where("id < 0"), budget=BUDGET) as batches:
        assert list(batches) == []


def test_a_batch_arrives_whole_and_once(spark: SparkSession, sink: PostgresWriter) -> None:
    assert sink.write(attempt(0), numbers(spark)) == Apply()
    assert sink.write(attempt(0), numbers(spark)) == Skip()
    assert compare(range(ROWS), content(sink)).exact


def test_a_task_that_fails_is_not_the_end_of_the_data(
    spark: SparkSession, sink: PostgresWriter
) -> None:
    with pytest.raises(PySparkException, match="upstream"):
        sink.write(attempt(0), failing(spark))
    assert content(sink) == []
    assert read_row(sink.ledger.session.connection(), ROW.stream, ROW.sink) == ROW
    assert sink.write(attempt(0), numbers(spark)) == Apply()
    assert compare(range(ROWS), content(sink)).exact


def test_the_other_partitions_of_a_failed_job_do_come(spark: SparkSession) -> None:
    """So the test above is about a stream that ends well although its job did not."""
    with collected(failing(spark), budget=BUDGET) as batches:
        came: list[int] = []
        with pytest.raises(PySparkException, match="upstream"):
            came.extend(batch.num_rows for batch in batches)
    assert ROWS // 2 <= sum(came) < ROWS


def test_who_leaves_early_waits_for_spark(spark: SparkSession) -> None:
    with collected(numbers(spark), budget=BUDGET) as batches:
        assert next(batches).num_rows > 0
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # the tracker hears of the end
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


@pytest.mark.parametrize("arrivals", [[None], ["batch", None], ["batch", [0, 1], None]])
def test_a_stream_that_is_cut_is_an_error(arrivals: list[Any]) -> None:
    well: Any = SimpleNamespace(wait=lambda: None)
    stream = _Stream(well, BUDGET)
    for each in arrivals:
        stream.arrived.put(SimpleNamespace(nbytes=1) if each == "batch" else each)
    with pytest.raises(IncompleteBatchError):
        list(stream.until_whole(stream.arrived.get()))


def test_who_is_given_more_than_it_may_hold_says_so(spark: SparkSession) -> None:
    with collected(numbers(spark), budget=1) as batches, pytest.raises(TooLargeError):
        list(batches)


def test_a_batch_that_turns_out_too_large_is_written_by_a_task(
    spark: SparkSession, sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.collect.budget_of", lambda _: 1)
    monkeypatch.setattr("holdfast.sinks.postgres.large.is_large", lambda _: False)
    assert sink.write(attempt(0), numbers(spark)) == Apply()
    assert compare(range(ROWS), content(sink)).exact
