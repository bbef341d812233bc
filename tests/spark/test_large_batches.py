"""Batches over the driver's budget, written by one task: the same rows, or none."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from holdfast.ledger.decide import Apply, Reason, Refuse, Skip
from holdfast.sinks import collect
from holdfast.sinks.collect import BUDGET_SETTING, MAX_RESULT_SIZE
from holdfast.sinks.postgres.large import is_large, with_end
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.task import Task
from holdfast.sinks.postgres.writer import PostgresWriter
from holdfast.streams.query_end import StoppedError
from tests.ledger_rows import ROW, attempt
from tests.spark.file_stream import Stream
from tests.writers import open_writer

NUMBERS = 100_000
EACH_ONCE = Counter(range(NUMBERS))


@pytest.fixture
def secret(stream: Stream, tmp_path: Path) -> str:
    """Where executors find the DSN too: a variable would not be set in workers that live on."""
    (tmp_path / "dsn").write_text(stream.dsn)
    return f"file:{tmp_path / 'dsn'}"


@pytest.fixture
def large(stream: Stream, secret: str, monkeypatch: pytest.MonkeyPatch) -> Stream:
    """A stream all of whose batches are too large for the driver."""
    stream.spark = stream.spark.newSession()
    stream.spark.conf.set(BUDGET_SETTING, "1")
    monkeypatch.setattr(
        Stream, "sink", lambda _, **more: PostgresSink(secret, table="readings", **more)
    )
    monkeypatch.setattr(PostgresWriter, "_write_here", None)
    return stream


def test_every_row_arrives_once_across_restarts(large: Stream) -> None:
    large.run()
    large.add(3)
    large.run()
    assert large.rows() == [f"row {number}" for number in range(4)]


def test_rows_are_merged_by_key(large: Stream) -> None:
    large.execute("ALTER TABLE readings ADD PRIMARY KEY (value)")
    large.run(into=large.sink(keys=["value"]))
    (large.files / "f900").write_text("row 1\nrow 9\n")
    large.run(into=large.sink(keys=["value"]))
    assert large.rows() == ["row 0", "row 1", "row 2", "row 9"]


def test_a_query_with_state_is_computed_by_its_own_tasks(large: Stream) -> None:
    """The task that writes gets their rows by a shuffle; it does not run them itself."""
    large.execute("DROP TABLE readings; CREATE TABLE readings (value text PRIMARY KEY, n bigint)")
    (large.files / "f900").write_text("row 1\nrow 1\n")
    counts = large.source.groupBy("value").agg(F.count("*").alias("n"))
    sink = large.sink(keys=["value"])
    large.run(df=counts, into=sink, outputMode="update")
    (large.files / "f901").write_text("row 1\nrow 2\n")
    large.run(df=counts, into=sink, outputMode="update")
    with psycopg.connect(large.dsn) as connection:
        found = connection.execute("SELECT value, n FROM readings ORDER BY 1").fetchall()
    assert found == [("row 0", 1), ("row 1", 4), ("row 2", 2)]


@pytest.mark.parametrize("name", ["id_ends", "a.b", "`", "row ends"])
def test_the_column_that_says_the_end_has_a_name_of_its_own(stream: Stream, name: str) -> None:
    numbers = stream.spark.range(3).toDF(name)
    rows = with_end(numbers).collect()
    assert [tuple(row) for row in rows] == [(0, False), (1, False), (2, False), (None, True)]


def test_what_waits_in_a_file_arrives(
    stream: Stream, sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "IN_MEMORY_BYTES", 0)
    numbers = stream.spark.range(0, NUMBERS, 1, 4)
    assert sink._write_here(attempt(0), numbers, lambda _: None) == Apply()
    assert stream.ids() == EACH_ONCE


@pytest.fixture
def sink(stream: Stream, secret: str) -> Iterator[PostgresWriter]:
    """A sink for numbers with an open ledger row."""
    stream.execute("DROP TABLE readings; CREATE TABLE readings (id bigint)")
    with psycopg.connect(stream.dsn, autocommit=True) as connection:
        ensure_tables(connection)
        replace_row(connection, None, ROW, target="readings")
    found = open_writer(PostgresSink(secret, table="readings"), stream.spark.range(0))
    yield found
    found.close()


def failing(stream: Stream) -> DataFrame:
    """Return numbers whose reading fails in the middle."""
    fails = F.raise_error(F.lit("the source is gone"))
    number = F.when(F.col("id") < 60_000, F.col("id")).otherwise(fails)
    return stream.spark.range(0, NUMBERS, 1, 4).select(number.alias("id"))


def test_a_source_that_fails_in_the_middle_looks_like_the_end_of_the_data(stream: Stream) -> None:
    """Why a row says that it is the last: Spark does not tell that the input has failed."""
    seen = stream.root.parent / "seen"

    def count_rows(batches: Iterable[Any]) -> Iterator[Any]:
        seen.write_text(str(sum(batch.num_rows for batch in batches)))  # would be its commit
        yield from ()

    with pytest.raises(PySparkException):
        failing(stream).coalesce(1).mapInArrow(count_rows, "id long").collect()
    assert 0 < int(seen.read_text()) < NUMBERS


def test_half_of_a_batch_is_not_committed(
    stream: Stream, sink: PostgresWriter, secret: str
) -> None:
    task = Task(dsn=secret, target=sink.target, attempt=attempt(0))
    broken = with_end(failing(stream).coalesce(1))
    with pytest.raises(PySparkException):
        broken.mapInArrow(task, "said string").collect()
    assert not stream.ids()
    whole = with_end(stream.spark.range(0, NUMBERS, 1, 4))
    for said in ("Apply", "Skip"):  # the second as after an executor was lost past its commit
        (answer,) = whole.mapInArrow(task, "said string").collect()
        assert answer.said == said
    assert stream.ids() == EACH_ONCE


def test_a_batch_that_fails_is_not_written(stream: Stream, sink: PostgresWriter) -> None:
    with pytest.raises(PySparkException):
        sink._write_in_task(attempt(0), failing(stream), lambda _: None)
    assert not stream.ids()


def test_what_the_task_decides_comes_back(stream: Stream, sink: PostgresWriter) -> None:
    numbers = stream.spark.range(0, NUMBERS, 1, 4)
    assert sink._write_in_task(attempt(5), numbers, lambda _: None) == Refuse(Reason.GAP)
    assert sink._write_in_task(attempt(0), numbers, lambda _: None) == Apply()
    assert sink._write_in_task(attempt(0), numbers, lambda _: None) == Skip()
    assert stream.ids() == EACH_ONCE


def test_a_query_that_is_stopped_commits_nothing_more(stream: Stream, sink: PostgresWriter) -> None:
    def refuse(_: int) -> None:
        raise StoppedError("readings", 0)

    for write in (sink._write_here, sink._write_in_task):
        with pytest.raises(StoppedError):
            write(attempt(0), stream.spark.range(0, NUMBERS), refuse)
    assert not stream.ids()


def test_stopping_a_query_in_its_batch_leaves_nothing_of_it(stream: Stream) -> None:
    """Spark's `stop` does not interrupt the function that writes, and returns before it ends."""
    with stream.stopped_at("S5"):
        pass
    assert stream.rows() == []
    stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2"]


def test_a_size_that_spark_does_not_know_is_not_large(stream: Stream) -> None:
    """Kafka's is not, nor a part of it."""
    found = []

    def look(batch: DataFrame, _: int) -> None:
        batch.sparkSession.conf.set(BUDGET_SETTING, "1")
        found.append(is_large(batch))

    rates = stream.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    for df in (rates, rates.select("value"), stream.source):
        df.writeStream.foreachBatch(look).trigger(once=True).start().awaitTermination()
    assert found == [False, False, True]


def test_what_spark_does_not_let_the_driver_have_is_written_by_a_task(
    stream: Stream, sink: PostgresWriter
) -> None:
    """The size was not known, and Spark's own limit is below the driver's budget."""
    conf = stream.spark.sparkContext._jsc.sc().conf()
    conf.set(MAX_RESULT_SIZE, "100k")
    try:
        numbers = stream.spark.range(0, NUMBERS, 1, 4)
        with pytest.raises(Py4JJavaError, match=MAX_RESULT_SIZE):
            numbers.toArrow()
        assert sink._write_here(attempt(0), numbers, lambda _: None) == Apply()
    finally:
        conf.remove(MAX_RESULT_SIZE)
    assert stream.ids() == EACH_ONCE


def test_executors_that_lack_something_are_named(stream: Stream) -> None:
    stream.spark = stream.spark.newSession()
    stream.spark.conf.set(BUDGET_SETTING, "1")
    with pytest.raises(StreamingQueryException, match="executors lack the DSN"):
        stream.run()
    assert stream.rows() == []


def test_what_runs_in_the_task_needs_nothing_else_on_executors() -> None:
    """The standard library, pyarrow and psycopg; and Holdfast itself."""
    script = (
        "import sys; before = set(sys.modules); import pyarrow, psycopg; given = set(sys.modules);"
        " import holdfast.sinks.postgres.task;"
        " print({name.split('.')[0] for name in set(sys.modules) - given} - {'holdfast', 'pyarrow'}"
        " - sys.stdlib_module_names)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert found.stdout.strip() == b"set()"
