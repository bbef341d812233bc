"""One batch for several sinks: each exactly once, and each the same rows."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import holdfast as hf
from holdfast import points
from holdfast.errors import ConfigError
from tests.spark.file_stream import Stream, remove

pytestmark = pytest.mark.sampled(4)


class KilledError(Exception):
    """Stands for a kill: nothing after it is done."""


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def both(stream: Stream, table: str) -> list[Any]:
    return [hf.Delta(path=table), stream.sink()]


def delta_rows(stream: Stream, table: str) -> Counter[str]:
    return Counter(row.value for row in stream.spark.read.format("delta").load(table).collect())


def marked(stream: Stream) -> DataFrame:
    """Rows that come out differently whenever they are computed."""
    return stream.source.select(F.concat("value", F.lit(" "), F.expr("uuid()")).alias("value"))


def die_between_sinks(point: str) -> None:
    if point == "sink-written":
        points.listen(None)
        raise KilledError


def test_every_row_arrives_once_in_each(stream: Stream, table: str) -> None:
    stream.run(into=both(stream, table))
    stream.add(3)
    stream.run(into=both(stream, table))
    expected = [f"row {number}" for number in range(4)]
    assert stream.rows() == expected
    assert delta_rows(stream, table) == Counter(expected)


@pytest.mark.parametrize("build", [marked, lambda stream: stream.source], ids=["any", "repeatable"])
def test_a_kill_between_two_sinks_gives_the_second_what_the_first_has(
    stream: Stream, table: str, build: Callable[[Stream], DataFrame]
) -> None:
    points.listen(die_between_sinks)
    try:
        with pytest.raises(StreamingQueryException):
            stream.run(df=build(stream), into=both(stream, table))
    finally:
        points.listen(None)
    assert stream.rows() == []
    assert delta_rows(stream, table).total() == 1
    stream.run(df=build(stream), into=both(stream, table))
    assert Counter(stream.rows()) == delta_rows(stream, table)
    assert sorted(row[:5] for row in stream.rows()) == ["row 0", "row 1", "row 2"]


def test_a_kill_between_two_sinks_in_the_last_batch_leaves_none_out(
    stream: Stream, table: str
) -> None:
    """No batch comes after it that would not follow on what the second sink has."""
    written = itertools.count(1)

    def die_in_the_last(point: str) -> None:
        if point == "sink-written" and next(written) == 5:  # two sinks, the third batch
            die_between_sinks(point)

    points.listen(die_in_the_last)
    try:
        with pytest.raises(StreamingQueryException):
            stream.run(into=both(stream, table))
    finally:
        points.listen(None)
    stream.run(into=both(stream, table))
    expected = [f"row {number}" for number in range(3)]
    assert stream.rows() == expected
    assert delta_rows(stream, table) == Counter(expected)


def test_what_was_written_down_is_forgotten_when_all_have_it(stream: Stream, table: str) -> None:
    stream.run(df=marked(stream), into=both(stream, table))
    kept = [path.name for path in (stream.root / "_holdfast/readings/batches").glob("*.json")]
    assert [name[:11] for name in kept] == ["0001-000002"]
    stream.run(df=stream.source, into=both(stream, table))
    assert not (stream.root / "_holdfast/readings/batches/none").exists()


def test_a_batch_that_both_hold_is_skipped(stream: Stream, table: str) -> None:
    stream.run(df=marked(stream), into=both(stream, table))
    before = stream.rows()
    remove(stream.checkpoint / "commits/2")
    stream.run(df=marked(stream), into=both(stream, table))
    assert stream.rows() == before
    assert Counter(before) == delta_rows(stream, table)


def test_a_sink_that_is_added_later_begins_where_the_others_stand(
    stream: Stream, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    stream.run()
    stream.add(3)
    stream.run(into=[stream.sink(), hf.Delta(path=table)])
    assert stream.rows() == [f"row {number}" for number in range(4)]
    assert delta_rows(stream, table) == Counter(["row 3"])
    assert "its sinks changed from readings to readings, table" in caplog.text


def test_a_row_that_is_gone_is_not_a_sink_that_is_new(stream: Stream, table: str) -> None:
    stream.run(into=both(stream, table))
    stream.execute("DELETE FROM holdfast.ledger")
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run(into=both(stream, table))
    assert [finding.code for finding in refused.value.findings] == ["HF601"]


def test_two_sinks_of_one_name_are_refused(stream: Stream) -> None:
    with pytest.raises(ConfigError, match="different names"):
        stream.run(into=[stream.sink(), stream.sink()])


def with_state(df: DataFrame) -> DataFrame:
    return df.groupBy("value").count()


def test_state_is_written_when_the_rows_come_from_the_record(stream: Stream, table: str) -> None:
    """Killed between two sinks: the batch is not computed for the second, and its state is."""
    stream.execute("CREATE TABLE counts (value text PRIMARY KEY, count bigint)")

    def sinks() -> list[Any]:
        keyed = {"keys": ["value"], "sequence_by": "count"}
        counts = hf.Postgres(lambda: stream.dsn, table="counts", **keyed)  # type: ignore[arg-type]
        return [hf.Delta(path=table, **keyed), counts]  # type: ignore[arg-type]

    def run() -> None:
        stream.run(df=with_state(stream.source), into=sinks(), outputMode="update")

    points.listen(die_between_sinks)
    try:
        with pytest.raises(StreamingQueryException):
            run()
    finally:
        points.listen(None)
    (stream.files / "f900").write_text("row 0\nrow 0\n")
    run()
    with psycopg.connect(stream.dsn) as connection:
        rows: list[Any] = connection.execute("SELECT value, count FROM counts").fetchall()
    found = dict(rows)
    assert found == {"row 0": 3, "row 1": 1, "row 2": 1}
    there = stream.spark.read.format("delta").load(table).collect()
    assert {row.value: row["count"] for row in there} == found


def test_two_sinks_keep_the_same_of_rows_that_are_equally_new(stream: Stream, table: str) -> None:
    """In one batch and in several; text by its bytes, NULL the largest."""
    stream.execute("CREATE TABLE ties (key text PRIMARY KEY, at bigint, id text, more bigint)")
    for path in stream.files.iterdir():
        path.unlink()
    values = ["a", "B", "é", "z", "-", "Z"]
    for number, given in enumerate((values, values[::-1], values[2:] + values[:2])):
        lines = [f"k{(at + number) % 4} {value} {at % 3}\n" for at, value in enumerate(given)]
        path = stream.files / f"f{number:03}"
        path.write_text("".join(lines))
    parts = F.split("value", " ")
    rows = stream.source.select(
        parts[0].alias("key"),
        F.lit(1).cast("long").alias("at"),
        F.when(parts[1] != "-", parts[1]).alias("id"),
        parts[2].cast("long").alias("more"),
    )
    keyed: dict[str, Any] = {"keys": ["key"], "sequence_by": "at"}
    sinks = [hf.Delta(path=table, **keyed), hf.Postgres(lambda: stream.dsn, table="ties", **keyed)]
    stream.run(df=rows, into=sinks)
    with psycopg.connect(stream.dsn) as connection:
        found = sorted(connection.execute("SELECT key, id, more FROM ties").fetchall())
    there = stream.spark.read.format("delta").load(table).select("key", "id", "more").collect()
    assert sorted(tuple(row) for row in there) == found
    assert len(found) == 4
    assert any(row[1] is None for row in found), "NULL is the largest"
