"""`format("holdfast")` on a classic session: it starts, is refused and fenced as `hf.start` is."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.errors import StreamingQueryException

import holdfast as hf
from holdfast.drills.kill.waiting import wait_until
from holdfast.record.leases import release, take_lease
from holdfast.record.owner import this_process
from holdfast.storage.write import open_writer
from tests.spark.file_stream import Stream

pytestmark = pytest.mark.sampled(7)


@pytest.fixture
def source(stream: Stream, tmp_path: Path) -> Stream:
    """The stream, whose DSN stands in a file: workers have the environment of the session."""
    (tmp_path / "dsn").write_text(stream.dsn)
    hf.register(stream.spark)
    return stream


def options(stream: Stream, **more: Any) -> dict[str, str]:
    sink = hf.Postgres(f"file:{stream.root.parent / 'dsn'}", table=more.pop("table", "readings"))
    return hf.guard_options(stream="readings", into=sink, root=str(stream.root), **more)


def run(stream: Stream, given: dict[str, str] | None = None, **more: Any) -> None:
    writer = stream.source.writeStream.format("holdfast").trigger(availableNow=True)
    query = writer.options(**(given or options(stream, **more))).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def refused(stream: Stream, code: str, given: dict[str, str] | None = None, **more: Any) -> str:
    before = stream.rows()
    with pytest.raises(StreamingQueryException, match=code) as error:
        run(stream, given, **more)
    assert stream.rows() == before
    return str(error.value)


def lease(stream: Stream, epoch: int) -> Path:
    return stream.root / f"_holdfast/readings/leases/{epoch:06}.json"


def test_it_runs_and_goes_on(source: Stream) -> None:
    run(source)
    source.add(3)
    run(source)
    assert source.rows() == ["row 0", "row 1", "row 2", "row 3"]
    owner = json.loads(lease(source, 1).read_text())["owner"]["pid"]
    gateway: Any = source.spark.sparkContext._gateway
    assert owner == gateway.proc.pid  # as long as the JVM lives, and not the worker


def test_a_second_run_in_one_jvm_is_guarded_as_a_new_start(source: Stream) -> None:
    run(source)
    source.add(3)
    run(source)
    runs = sorted(path.name[:6] for path in (source.root / "_holdfast/readings/runs").iterdir())
    assert runs == ["000001", "000002"]


def test_hf_start_and_it_take_turns(source: Stream) -> None:
    run(source)
    source.add(3)
    given = {"into": hf.Postgres(f"file:{source.root.parent / 'dsn'}", table="readings")}
    source.run(**given, takeover=True)
    source.add(4)
    run(source)
    assert source.rows() == [f"row {number}" for number in range(5)]


def test_a_deleted_checkpoint_is_refused(source: Stream) -> None:
    run(source)
    shutil.rmtree(source.checkpoint)
    assert "which had this checkpoint before" in refused(source, "HF602")


def test_another_checkpoint_is_refused(source: Stream, tmp_path: Path) -> None:
    run(source)
    told = refused(source, "and its checkpoint is", checkpoint=str(tmp_path / "elsewhere"))
    assert "full refresh" in told


def test_a_checkpoint_of_another_writer_is_asked_about(source: Stream, tmp_path: Path) -> None:
    old = tmp_path / "elsewhere"
    source.run_unguarded(old)
    source.add(3)
    refused(source, "HF610", checkpoint=str(old))


def test_an_emptied_table_is_refused(source: Stream) -> None:
    run(source)
    source.execute("TRUNCATE readings")
    source.add(3)
    refused(source, "HF")


def test_a_dropped_table_is_refused(source: Stream) -> None:
    run(source)
    source.execute("DROP TABLE readings; CREATE TABLE readings (value text)")
    source.add(3)
    refused(source, "HF")


def test_a_newer_driver_fences_it(source: Stream) -> None:
    run(source)
    source.execute("UPDATE holdfast.ledger SET epoch = 7, nonce = repeat('f', 32)")
    source.add(3)
    run(source, takeover=True)
    assert source.rows() == ["row 0", "row 1", "row 2", "row 3"]
    assert json.loads(lease(source, 8).read_text())["epoch"] == 8  # above what the sink holds


def test_a_driver_that_is_replaced_in_its_batch_commits_nothing(source: Stream) -> None:
    run(source)
    source.add(3)
    with psycopg.connect(source.dsn) as holder:
        holder.execute("LOCK TABLE readings IN SHARE MODE")
        writer = source.source.writeStream.format("holdfast").trigger(availableNow=True)
        query = writer.options(**options(source)).start()
        assert wait_until(lambda: is_waited_for(source.dsn), seconds=60)
        source.execute("UPDATE holdfast.ledger SET epoch = epoch + 1, nonce = repeat('f', 32)")
        holder.rollback()
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    assert source.rows() == ["row 0", "row 1", "row 2"]


def test_a_start_that_was_replaced_gets_no_new_epoch(source: Stream) -> None:
    given = options(source)
    run(source, given)
    record = open_writer(str(source.root / "_holdfast/readings"))
    release(record, take_lease(record, this_process(), takeover=True, after=1))
    source.add(3)
    refused(source, "has taken it over since this query was started", given)
    run(source)
    assert source.rows() == ["row 0", "row 1", "row 2", "row 3"]


def is_waited_for(dsn: str) -> bool:
    with psycopg.connect(dsn) as connection:
        found = connection.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted"
            " AND relation = 'readings'::regclass)"
        ).fetchone()
    return found is not None and bool(found[0])


def test_what_cannot_be_told_by_options_is_refused(source: Stream, tmp_path: Path) -> None:
    with pytest.raises(hf.ConfigError, match=r"env:NAME or file:PATH"):
        hf.guard_options(
            stream="readings",
            into=hf.Postgres(lambda: "", table="readings"),
            root=str(source.root),
        )
    with pytest.raises(hf.ConfigError, match=r"PostgreSQL only"):
        hf.guard_options(
            stream="readings", into=hf.Delta(path=str(tmp_path / "t")), root=str(source.root)
        )
    counts = source.source.groupBy("value").count()
    writer = counts.writeStream.format("holdfast").outputMode("complete")
    with pytest.raises(StreamingQueryException, match="complete"):
        writer.options(**options(source)).trigger(availableNow=True).start().awaitTermination()


def test_without_options_it_says_what_to_give(source: Stream) -> None:
    given = {"checkpointLocation": str(source.root / "x")}
    assert "hf.guard_options" in refused(source, "CONFIG|Nothing was done", given)


def test_values_and_columns_are_checked_before_tasks_run(source: Stream) -> None:
    source.execute("CREATE TABLE numbers (value bigint)")
    refused(source, "does not take this stream", table="numbers")
    assert not list((source.root / "_holdfast").rglob("*.json"))
