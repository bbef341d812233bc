"""One sink used twice, one table under two names, one stream started twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.errors import ConfigError, WriteError
from holdfast.record.epochs import newest_epoch
from holdfast.record.leases import read_lease
from holdfast.storage.write import open_writer
from holdfast.streams.query_end import AlreadyRunningError
from holdfast.streams.start import start
from tests.spark.file_stream import Stream, remove, wait_until_given_up

QUICKLY = {"processingTime": "100 milliseconds"}
NOW = {"availableNow": True}


def table(stream: Stream, name: str) -> Counter[Any]:
    with psycopg.connect(stream.dsn) as connection:
        return Counter(connection.execute(f"SELECT * FROM {name}".encode()).fetchall())


def ordered(stream: Stream, directory: Path, schema: str, *rows: str) -> DataFrame:
    """Return a stream of CSV files, each of which is a batch."""
    directory.mkdir(exist_ok=True)
    for number, row in enumerate(rows):
        (directory / f"{number}.csv").write_text(f"{row}\n")
    reader = stream.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.csv(str(directory))


def test_one_sink_in_two_streams_keeps_their_columns_apart(stream: Stream, tmp_path: Path) -> None:
    """Encoders belong to one start: the other stream has its columns in another order."""
    stream.execute("CREATE TABLE spans (src text, lo int, hi int)")
    sink = hf.Postgres(lambda: stream.dsn, table="spans")
    one = ordered(stream, tmp_path / "a", "src string, lo int, hi int", "A,1,100", "A,2,200")
    two = ordered(stream, tmp_path / "b", "src string, hi int, lo int", "B,100,1", "B,200,2")
    queries = [
        hf.start(df, stream=name, root=str(stream.root), into=sink, trigger=QUICKLY)
        for name, df in (("spans-a", one), ("spans-b", two))
    ]
    for query in queries:
        query.processAllAvailable()
    for number in range(2, 6):  # interleaved: each in transactions of its own
        for name, row in (("a", "A,3,300"), ("b", "B,300,3")):
            (tmp_path / name / f"{number}.csv").write_text(f"{row}\n")
    for query in queries:
        query.processAllAvailable()
        assert query.isActive
        query.stop()
    wait_until_given_up()
    spans = {(1, 100): 1, (2, 200): 1, (3, 300): 4}
    assert table(stream, "spans") == Counter(
        {(src, *span): count for src in "AB" for span, count in spans.items()}
    )


def test_a_sink_that_is_named_differently_among_several_is_still_the_same(stream: Stream) -> None:
    """A pending batch that it holds already does not arrive a second time."""
    stream.execute("CREATE TABLE other (value text)")

    def sinks(name: str) -> list[Any]:
        return [hf.Postgres(lambda: stream.dsn, table=each) for each in ("other", name)]

    stream.run(into=sinks("readings"))
    remove(stream.checkpoint / "commits" / "2")  # as a kill after the sinks leaves it
    stream.run(into=sinks("public.readings"))
    once = Counter((f"row {number}",) for number in range(3))
    assert table(stream, "readings") == table(stream, "other") == once


@pytest.mark.parametrize("second", ["public.readings", "readings"])
def test_one_table_under_two_names_is_refused(stream: Stream, second: str) -> None:
    twice = [
        hf.Postgres(lambda: stream.dsn, table="readings"),
        hf.Postgres(lambda: stream.dsn, table=second, name="again"),
    ]
    with pytest.raises(ConfigError, match="are the same"):
        stream.run(into=twice)
    assert table(stream, "readings") == Counter()


def test_two_streams_of_a_pipeline_that_append_to_one_table_are_refused_by_any_name(
    stream: Stream,
) -> None:
    pipeline = hf.Pipeline("both", root=str(stream.root))
    for name, where in (("one", "readings"), ("two", "public.readings")):
        sink = hf.Postgres(lambda: stream.dsn, table=where)
        pipeline.stream(name, into=sink)(lambda _: stream.source)
    with pytest.raises(ConfigError, match="both write to"):
        pipeline.start(stream.spark)


def test_one_delta_table_by_path_and_through_a_link_is_refused(
    stream: Stream, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gold")
    paths = [str(tmp_path / "gold"), str(tmp_path / "link")]
    twice = [hf.Delta(path=path, name=f"n{at}") for at, path in enumerate(paths)]
    with pytest.raises(ConfigError, match="are the same"):
        stream.run(into=twice)


@pytest.fixture(scope="module")
def left_running() -> Iterator[list[Any]]:
    """Takes queries that a test does not stop."""
    queries: list[Any] = []
    yield queries
    assert [query.isActive for query in queries] == [False]


def test_what_a_test_leaves_running_is_stopped_before_the_next(
    stream: Stream, left_running: list[Any]
) -> None:
    left_running.append(stream.start(trigger=QUICKLY))


@pytest.mark.parametrize("takeover", [False, True])
def test_a_second_start_in_the_same_process_fails_at_once_and_the_first_goes_on(
    stream: Stream, takeover: bool
) -> None:
    query = stream.start(trigger=QUICKLY)
    query.processAllAvailable()
    epoch = newest_epoch(open_writer(str(stream.root / "_holdfast/readings")))
    with pytest.raises(AlreadyRunningError, match="keeps running"):
        stream.start(takeover=takeover)
    other = Stream(
        spark=stream.spark.newSession(), root=stream.root, files=stream.files, dsn=stream.dsn
    )
    with pytest.raises(AlreadyRunningError):
        other.start(takeover=takeover)
    stream.add(3)
    query.processAllAvailable()
    assert query.isActive
    assert newest_epoch(open_writer(str(stream.root / "_holdfast/readings"))) == epoch
    query.stop()
    wait_until_given_up()
    assert stream.rows() == [f"row {number}" for number in range(4)]
    stream.add(4)
    stream.run()
    assert stream.rows() == [f"row {number}" for number in range(5)]


def test_what_fails_after_the_query_has_started_stops_it(
    stream: Stream, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its run written down, nothing would renew its lease."""
    began = threading.Event()

    def fails(*_: Any) -> None:
        began.set()
        raise WriteError("runs", why="It is a file.", how="Remove it.")

    monkeypatch.setattr("holdfast.streams.heartbeat.write_run", fails)
    with pytest.raises(WriteError):
        start(
            stream.source,
            stream="readings",
            into=stream.sink(),
            root=str(stream.root),
            trigger=QUICKLY,
        )
    assert began.is_set()
    assert [query.name for query in spark.streams.active] == []
    record = open_writer(str(stream.root / "_holdfast/readings"))
    lease = read_lease(record, newest_epoch(record))
    assert lease is not None
    assert lease.released
    monkeypatch.undo()
    stream.run()
    assert stream.rows() == [f"row {number}" for number in range(3)]
