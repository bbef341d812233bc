"""`hf.start` on real Spark and PostgreSQL: exact across restarts, and refused when it must be."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from holdfast import points
from holdfast.errors import ConfigError
from holdfast.ids import BatchId
from holdfast.ledger.coverage import read_coverage
from holdfast.record import newest_epoch, take_lease, this_process
from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.ledger_rows import read_row
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.storage.write import open_writer
from holdfast.streams.query import LeaseLostError
from holdfast.streams.refusal import StartRefusedError
from holdfast.streams.start import start
from tests.house.repository import ROOT
from tests.spark.file_stream import Stream, remove, wait_until_given_up


def test_every_row_arrives_once_across_restarts(stream: Stream) -> None:
    stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2"]
    stream.add(3)
    stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2", "row 3"]
    with psycopg.connect(stream.dsn) as connection:
        row = read_row(connection, "readings", "readings")
    assert row is not None
    assert (row.last_batch, row.epoch, row.generation) == (3, 2, 1)


def test_a_batch_that_arrived_and_was_not_committed_is_skipped(stream: Stream) -> None:
    """As after a kill between the sink's commit and `commits/2`."""
    stream.run()
    remove(stream.checkpoint / "commits/2")
    stream.add(3)
    stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2", "row 3"]


def test_a_source_that_a_plan_names_twice_is_one_source(stream: Stream) -> None:
    """Spark has one source for both, and two lines for it in every entry."""
    source = stream.source
    stream.run(df=source.union(source))
    remove(stream.checkpoint / "commits/2")
    stream.add(3)
    source = stream.source
    stream.run(df=source.union(source))
    assert stream.rows() == sorted(2 * [f"row {number}" for number in range(4)])


def test_an_entry_that_another_driver_has_replaced_is_refused(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On S3 the late request of a fenced driver does that: the sink would skip or double data."""
    stream.run()

    def replaced(reader: Any, batch_id: BatchId) -> Any:
        entry = stream.checkpoint / f"offsets/{batch_id}"
        entry.write_text(entry.read_text().replace('"logOffset":3', '"logOffset":2'))
        return read_coverage(reader, batch_id)

    monkeypatch.setattr("holdfast.streams.batches.read_coverage", replaced)
    stream.add(3)
    with pytest.raises(StreamingQueryException, match="another driver wrote it"):
        stream.run()
    assert stream.rows() == ["row 0", "row 1", "row 2"]


def test_a_query_whose_lease_was_taken_is_stopped(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = partial(take_lease, term_s=1.5)
    monkeypatch.setattr("holdfast.streams.start.take_lease", short)
    query = start(stream.source, stream="readings", into=stream.sink(), root=str(stream.root))
    query.processAllAvailable()
    record = open_writer(str(stream.root / "_holdfast/readings"))
    take_lease(record, this_process(), takeover=True)
    with pytest.raises(LeaseLostError):  # and not as if it had done all
        query.awaitTermination(60)
    assert newest_epoch(record) == 2


class KilledError(Exception):
    """Stands for a kill: nothing after it is done."""


def test_a_driver_that_was_replaced_writes_nothing_though_the_next_one_died_at_once(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fence holds from the start on, and not only from the first batch of the next one."""
    long = partial(take_lease, term_s=600)  # so that the first is not told by its lease
    monkeypatch.setattr("holdfast.streams.start.take_lease", long)
    inside, go_on = threading.Event(), threading.Event()

    def halt_and_kill(point: str) -> None:
        if point == "S1":
            inside.set()
            go_on.wait(60)
        elif point == "G5" and inside.is_set():
            raise KilledError

    points.listen(halt_and_kill)
    try:
        first = stream.start()
        assert inside.wait(60)
        # As in another process, which knows nothing of the query here.
        monkeypatch.setattr("holdfast.streams.start.refuse_second_query", lambda *_: None)
        with pytest.raises(KilledError):
            stream.start(takeover=True)
    finally:
        points.listen(None)
        go_on.set()
    wait_until_given_up()
    assert stream.rows() == []
    assert "a later driver has taken over" in str(first.exception())


STORE = "spark.sql.streaming.stateStore."
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
STATES: dict[str, dict[str, str]] = {
    "hdfs": {},
    "rocksdb": {STORE + "providerClass": ROCKSDB},
    "rocksdb, format 2": {
        STORE + "providerClass": ROCKSDB,
        STORE + "checkpointFormatVersion": "2",
    },
}


@pytest.mark.parametrize("settings", STATES.values(), ids=list(STATES))
def test_a_batch_with_state_that_is_skipped_is_drained(
    stream: Stream, settings: dict[str, str]
) -> None:
    """Without that, state format 2 would never start again."""
    stream.spark = stream.spark.newSession()
    for name, value in {**settings, "spark.sql.shuffle.partitions": "2"}.items():
        stream.spark.conf.set(name, value)
    stream.execute("CREATE TABLE counts (value text PRIMARY KEY, count bigint)")

    def run() -> list[Any]:
        sink = PostgresSink(lambda: stream.dsn, table="counts", keys=["value"], sequence_by="count")
        query = start(
            stream.source.groupBy("value").count(),
            stream="counts",
            into=sink,
            root=str(stream.root),
            trigger={"availableNow": True},
            outputMode="update",
        )
        query.awaitTermination()
        with psycopg.connect(stream.dsn) as connection:
            return connection.execute("SELECT value, count FROM counts ORDER BY 1").fetchall()

    assert run() == [(f"row {number}", 1) for number in range(3)]
    remove(stream.root / "counts/commits/2")
    (stream.files / "f900").write_text("row 0\nrow 1\n")
    assert run() == [("row 0", 2), ("row 1", 2), ("row 2", 1)]


def delete_checkpoint(stream: Stream) -> None:
    for name in ("offsets", "commits", "sources"):
        shutil.rmtree(stream.checkpoint / name)


def delete_tail(stream: Stream) -> None:
    for batch in (1, 2):
        remove(stream.checkpoint / f"commits/{batch}")
        remove(stream.checkpoint / f"offsets/{batch}")


def replace_by_a_clone(stream: Stream) -> None:
    (stream.checkpoint / "metadata").write_text('{"id":"77aa77aa-0000-4000-8000-000000000000"}')
    (stream.checkpoint / ".metadata.crc").unlink(missing_ok=True)


def rewrite_source_log(stream: Stream) -> None:
    log = stream.checkpoint / "sources/0/2"
    log.write_text(log.read_text().replace("/f00", "/f99"))


HANDS: dict[str, tuple[Callable[[Stream], None], str]] = {
    "the ledger row is deleted": (lambda s: s.execute("DELETE FROM holdfast.ledger"), "HF601"),
    "the checkpoint is another query's": (replace_by_a_clone, "HF602"),
    "the sink is restored from a backup": (
        lambda s: s.execute("UPDATE holdfast.ledger SET last_batch = 1; DELETE FROM readings"),
        "HF603",
    ),
    "the checkpoint's tail is deleted": (delete_tail, "HF604"),
    "the source's log is rewritten": (rewrite_source_log, "HF605"),
    "the checkpoint is deleted": (delete_checkpoint, "HF606"),
    "the sink is of another generation": (
        lambda s: s.execute("UPDATE holdfast.ledger SET generation = 2"),
        "HF607",
    ),
}


@pytest.mark.parametrize(("hand", "code"), HANDS.values(), ids=list(HANDS))
def test_what_people_do_by_hand_is_refused_by_its_own_code(
    stream: Stream, hand: Callable[[Stream], None], code: str
) -> None:
    stream.run()
    hand(stream)
    before = stream.rows()
    stream.add(3)
    with pytest.raises(StartRefusedError) as refused:
        stream.run()
    assert refused.value.findings[0].code == code
    assert "nothing was written" in refused.value.what
    assert stream.rows() == before
    with pytest.raises(StartRefusedError):  # and it stays refused: the lease was given up
        stream.run()


def test_a_table_that_does_not_fit_is_refused_before_any_batch(stream: Stream) -> None:
    stream.execute("ALTER TABLE readings RENAME COLUMN value TO text")
    with pytest.raises(TableError, match="no column value"):
        stream.run()
    assert not (stream.checkpoint / "offsets").exists()


def test_a_timestamp_goes_into_a_timestamptz(stream: Stream) -> None:
    """As every message of Kafka has one."""
    stream.execute("ALTER TABLE readings ADD COLUMN at timestamptz")
    stream.run(df=stream.source.withColumn("at", F.timestamp_seconds(F.lit(5))))
    with psycopg.connect(stream.dsn) as connection:
        found = connection.execute("SELECT value, extract(epoch FROM at) FROM readings").fetchall()
    assert sorted(found) == [(f"row {number}", 5) for number in range(3)]


def test_a_type_without_a_form_is_refused_by_name(stream: Stream) -> None:
    with pytest.raises(TableError, match=r"cannot be sent to a database.*IntervalType"):
        stream.run(df=stream.source.withColumn("span", F.expr("INTERVAL '2' YEAR")))


def test_a_dsn_that_is_plain_text_is_refused(stream: Stream) -> None:
    with pytest.raises(ConfigError, match="passed as plain text") as refused:
        start(
            stream.source,
            stream="readings",
            into=PostgresSink("postgresql://u:secret@h/d", table="readings"),
            root=str(stream.root),
        )
    assert "secret" not in str(refused.value)


def test_the_record_holds_no_secret(stream: Stream) -> None:
    stream.run()
    files = [path for path in (stream.root / "_holdfast").rglob("*") if path.is_file()]
    assert {path.relative_to(stream.root).parts[2] for path in files} == {
        "contracts",
        "generations",
        "inputs",
        "leases",
        "runs",
    }
    assert not any(stream.dsn in path.read_text() for path in files)


def test_the_example_of_the_guide_runs(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/guides/exactly-once.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("READINGS_DSN", stream.dsn)
    here = block.replace('"in"', repr(str(stream.files))).replace(
        '"streams"', repr(str(stream.root))
    )
    exec(compile(here, "exactly-once.md", "exec"), {})
    assert stream.rows() == ["row 0", "row 1", "row 2"]
