"""Streams whose batches are attached, on real Spark: exact rows, restarts, refusals by name."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pyspark.errors import PySparkException
from pyspark.taskcontext import TaskContext

import holdfast as hf
from holdfast import points
from holdfast.errors import ConfigError, HoldfastError
from holdfast.ledger import Apply, Skip
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.sink import SinkWriter
from holdfast.streams.sending import check_sendable
from tests.attached_parts import PARTITIONS, WAITING
from tests.ledger_rows import ROW, attempt
from tests.spark.file_stream import Stream
from tests.stand_ins import stand_in
from tests.writers import open_writer

NUMBERS = 100_000
OF_TEXT = "value text, holdfast_part bigint NOT NULL"
BY_PART = "PARTITION BY LIST (holdfast_part)"


@pytest.fixture
def secret(stream: Stream, tmp_path: Path) -> str:
    (tmp_path / "dsn").write_text(stream.dsn)
    return f"file:{tmp_path / 'dsn'}"


@pytest.fixture
def parted(stream: Stream, secret: str, monkeypatch: pytest.MonkeyPatch) -> Stream:
    """A stream of files whose batches two tasks attach."""
    stream.execute(f"DROP TABLE readings; CREATE TABLE readings ({OF_TEXT}) {BY_PART}")
    monkeypatch.setattr(
        Stream,
        "sink",
        lambda _, **more: PostgresSink(secret, table="readings", parallel=2, **more),
    )
    return stream


def names(stream: Stream, query: str) -> list[str]:
    with psycopg.connect(stream.dsn) as connection:
        return [name for (name,) in connection.execute(query.encode())]


def test_every_row_arrives_once_across_restarts(parted: Stream) -> None:
    parted.run()
    parted.add(3)
    parted.run()
    parted.run()
    assert parted.rows() == [f"row {number}" for number in range(4)]
    assert len(names(parted, PARTITIONS)) == 4  # of a file one task has the rows, the other none


def test_a_stop_before_the_commit_leaves_tables_that_the_next_batch_drops(parted: Stream) -> None:
    with parted.stopped_at("S5"):
        waiting = names(parted, WAITING)
        assert (len(waiting), parted.rows()) == (1, [])
    assert names(parted, WAITING) == waiting
    parted.run()
    assert parted.rows() == ["row 0", "row 1", "row 2"]
    assert names(parted, WAITING) == []


@pytest.fixture
def writer(stream: Stream, secret: str) -> Iterator[SinkWriter]:
    """A sink for numbers with an open ledger row."""
    columns = "id bigint, holdfast_part bigint NOT NULL"
    stream.execute(f"DROP TABLE readings; CREATE TABLE readings ({columns}) {BY_PART}")
    sink = PostgresSink(secret, table="readings", parallel=2)
    found: Any = open_writer(sink, stream.spark.range(0))
    assert found.ledger.replace(None, ROW)
    yield found
    found.close()


def test_a_batch_of_many_partitions_is_written_by_so_many_tasks(
    stream: Stream, writer: SinkWriter
) -> None:
    assert writer.write(attempt(0), stream.spark.range(0, NUMBERS, 1, 5)) == Apply()
    assert len(names(stream, PARTITIONS)) == 2
    assert writer.write(attempt(1), stream.spark.range(NUMBERS, NUMBERS + 9, 1, 1)) == Apply()
    assert len(names(stream, PARTITIONS)) == 3
    assert writer.write(attempt(2), stream.spark.range(0)) == Apply()
    assert writer.write(attempt(2), stream.spark.range(0)) == Skip()
    assert len(names(stream, PARTITIONS)) == 3
    assert stream.ids() == Counter(range(NUMBERS + 9))


def test_a_reader_beside_sees_complete_batches_only(stream: Stream, writer: SinkWriter) -> None:
    seen: set[int] = set()
    done = threading.Event()

    def look() -> None:
        with psycopg.connect(stream.dsn, autocommit=True) as connection:
            while not done.is_set():
                found = connection.execute("SELECT count(*) FROM readings").fetchone()
                seen.add(found[0] if found else -1)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(4):
            first = number * NUMBERS
            rows = stream.spark.range(first, first + NUMBERS, 1, 2)
            assert writer.write(attempt(number), rows) == Apply()
    finally:
        done.set()
        reader.join(60)
    assert len(seen) > 1
    assert all(count % NUMBERS == 0 for count in seen), seen


def test_a_source_that_fails_in_the_middle_brings_nothing(
    stream: Stream, writer: SinkWriter
) -> None:
    """One task has committed its table; the input of the other fails. The batch has no answer."""
    dsn = stream.dsn

    def fail_once_a_table_waits(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches
        if TaskContext().partitionId() == 1:
            with psycopg.connect(dsn, autocommit=True) as connection:
                while not connection.execute(WAITING).fetchall():
                    time.sleep(0.01)  # looks for the event: the other task's commit
            raise LookupError("the source is gone")

    whole = stream.spark.range(0, NUMBERS, 1, 2)
    with pytest.raises(PySparkException):
        writer.write(attempt(0), whole.mapInArrow(fail_once_a_table_waits, "id bigint"))
    assert stream.ids() == Counter()
    assert names(stream, WAITING)
    assert writer.write(attempt(0), whole) == Apply()
    assert (stream.ids(), names(stream, WAITING)) == (Counter(range(NUMBERS)), [])


def test_a_server_that_ends_all_sessions_is_tried_again(stream: Stream, writer: SinkWriter) -> None:
    def end_sessions(point: str) -> None:
        if point == "copying":
            points.listen(None)
            stream.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    points.listen(end_sessions)
    try:
        assert writer.write(attempt(0), stream.spark.range(0, NUMBERS, 1, 2)) == Apply()
    finally:
        points.listen(None)
    assert (stream.ids(), names(stream, WAITING)) == (Counter(range(NUMBERS)), [])


def refused(stream: Stream, **more: Any) -> HoldfastError:
    with pytest.raises(HoldfastError) as found:
        stream.start(**more)
    return found.value


TABLES = {
    "": ("There is no such table", 'holdfast_part" bigint NOT NULL) PARTITION BY LIST'),
    "CREATE TABLE readings (value text)": ("parallel= needs a table", "PARTITION BY LIST"),
    "CREATE TABLE readings (value text, holdfast_part bigint) PARTITION BY LIST (holdfast_part)": (
        "parallel= needs a table", "PARTITION BY LIST"),
    f"CREATE TABLE readings (n bigint GENERATED ALWAYS AS IDENTITY, {OF_TEXT}) {BY_PART}": (
        "Its column n is an identity column", "DROP IDENTITY"),
    f"CREATE TABLE readings ({OF_TEXT}) {BY_PART};"
    " CREATE TABLE others PARTITION OF readings DEFAULT": (
        "the default partition others", "DETACH PARTITION"),
    f"CREATE TABLE readings ({OF_TEXT}) {BY_PART}; CREATE PUBLICATION p FOR TABLE readings": (
        "the publication p", "leave"),
    f"CREATE TABLE readings ({OF_TEXT}) {BY_PART}; CREATE PUBLICATION p FOR ALL TABLES": (
        "the publication p", "leave"),
    f"CREATE TABLE kinds (value text PRIMARY KEY); CREATE TABLE readings ({OF_TEXT},"
    f" CONSTRAINT k FOREIGN KEY (value) REFERENCES kinds) {BY_PART}": (
        "the foreign key k", "DROP CONSTRAINT"),
    f"CREATE TABLE readings ({OF_TEXT}) {BY_PART};"
    " CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';"
    " CREATE TRIGGER t BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION f()": (
        "the trigger t", "DROP TRIGGER"),
    f"CREATE TABLE every ({OF_TEXT}) PARTITION BY LIST (value);"
    f" CREATE TABLE readings PARTITION OF every FOR VALUES IN ('a') {BY_PART}": (
        "the parent table every", 'ALTER TABLE "every" DETACH PARTITION'),
}  # fmt: skip


@pytest.mark.parametrize(("made", "said"), TABLES.items())
def test_a_table_that_parts_cannot_be_attached_to_is_refused_with_its_sql(
    parted: Stream, made: str, said: tuple[str, str]
) -> None:
    parted.execute(f"DROP TABLE readings; {made}")
    error = refused(parted)
    assert error.code == "TABLE"
    assert (said[0] in error.why, said[1] in error.how) == (True, True), str(error)


def test_a_role_that_may_not_attach_is_refused(parted: Stream, secret: str) -> None:
    known = conninfo_to_dict(parted.dsn)
    role = f"role_of_{known['dbname']}"
    parted.execute(
        f"CREATE ROLE {role} LOGIN PASSWORD '{known['password']}'; GRANT ALL ON readings TO {role};"
        f" GRANT CREATE ON DATABASE {known['dbname']} TO {role}"
    )
    Path(secret.removeprefix("file:")).write_text(make_conninfo(parted.dsn, user=role))
    assert "does not own the table" in refused(parted).why
    parted.execute(f"ALTER TABLE readings OWNER TO {role}")
    assert "may not create the tables" in refused(parted).why


def test_executors_without_the_dsn_are_refused_before_anything_is_written(
    parted: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.large._look_there", lambda *_: ["the DSN (none)"])
    error = refused(parted)
    assert (error.code, "was not started" in error.what) == ("EXECUTOR_LACKS", True)
    assert not parted.checkpoint.exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"parallel": 0}, "from 1 to 64"),
        ({"parallel": 65}, "from 1 to 64"),
        ({"parallel": True}, "a whole number"),
        ({"parallel": "2"}, "a whole number"),
        ({"parallel": 2, "keys": ["id"]}, "leave keys= out"),
    ],
)
def test_what_parallel_does_not_take_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        PostgresSink("env:DSN", table="readings", **given)


def test_the_data_source_and_connect_refuse_it_by_name(tmp_path: Path) -> None:
    sink = hf.Postgres("env:DSN", table="readings", parallel=2)
    with pytest.raises(ConfigError, match=r"Spark Connect cannot write .* parallel="):
        check_sendable([sink], stand_in(None))
    with pytest.raises(ConfigError, match="parallel="):
        hf.guard_options(into=sink, stream="readings", root=str(tmp_path))


def test_a_table_for_parts_says_so_to_a_stream_without_them(parted: Stream, secret: str) -> None:
    error = refused(parted, into=PostgresSink(secret, table="readings"))
    assert "holdfast_part" in error.why
    assert "parallel=" in error.how
