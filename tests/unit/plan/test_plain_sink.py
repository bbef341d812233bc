"""Which query a lost checkpoint was of, and what its sink says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.formats.delta_log import NATIVE_FENCE
from holdfast.ledger.output import RestoreOutput
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import FillTree, HoldTree, SettleSink
from tests.unit.plan.plain_on_disk import (
    QUERY,
    PlainStream,
    at,
    kafka,
    offsets_in,
    reason,
    written,
)

pytestmark = pytest.mark.unit

OTHER = "9d1f0000-0000-4000-8000-000000000002"


@pytest.fixture
def stream(tmp_path: Path) -> PlainStream:
    return PlainStream(home=tmp_path)


def _other(stream: PlainStream, *, last: int, source: str = "KafkaV2[Subscribe[clicks]]") -> None:
    """Log another query that writes into the same table."""
    stream.started(query=OTHER, name="clicks")
    for batch in range(last + 1):
        stream.ran(batch, query=OTHER, source=source, when=at(batch, later=20))
    stream.write_log()


def test_the_query_is_the_one_that_wrote_into_the_sink(stream: PlainStream) -> None:
    stream.runs(3)
    stream.started(query=OTHER, name="clicks")
    stream.ran(7, query=OTHER, sink="DeltaSink[/elsewhere]")
    stream.write_log()
    assert json.loads(written(stream.plan())["metadata"]) == {"id": QUERY}


def test_two_queries_of_one_sink_are_named(stream: PlainStream) -> None:
    stream.runs(3)
    _other(stream, last=2)
    said = reason(stream.plan())
    assert "2 queries in the event log write to" in said
    assert f"{QUERY} (orders), batch 3" in said
    assert f"{OTHER} (orders), batch 2" in said
    assert "--query-id" in said


def test_one_of_two_is_named_by_its_id(stream: PlainStream) -> None:
    stream.runs(3)
    _other(stream, last=2)
    assert offsets_in(stream.plan(query_id=QUERY)) == {"offsets/2": kafka(2), "offsets/3": kafka(3)}


def test_a_query_is_named_by_its_name(stream: PlainStream) -> None:
    stream.runs(3)
    stream.started(query=OTHER, name="clicks")
    stream.write_log()
    assert "offsets/3" in written(stream.plan(query_id="orders"))


def test_a_query_that_is_not_in_the_log_is_refused(stream: PlainStream) -> None:
    stream.runs(3)
    said = reason(stream.plan(query_id=OTHER))
    assert f"There is no query {OTHER} in the event log" in said
    assert QUERY in said


def test_a_query_that_writes_elsewhere_does_not_get_the_checkpoint(stream: PlainStream) -> None:
    stream.runs(3)
    other = PlainStream(home=stream.home / "b")
    other.commit(0, query=OTHER)
    said = reason(stream.plan(other.table))
    assert "No query in the event log" in said
    assert f"writes to DeltaSink[{stream.table}]" in said
    said = reason(stream.plan(other.table, query_id=QUERY))
    assert f"writes to DeltaSink[{stream.table}], and the Delta table {other.table}" in said


def test_a_query_is_found_by_the_checkpoint_that_was_recorded(stream: PlainStream) -> None:
    stream.started()
    stream.described(stream.checkpoint)
    stream.runs(3)
    _other(stream, last=2)
    assert json.loads(written(stream.plan())["metadata"]) == {"id": QUERY}


def test_a_query_whose_checkpoint_is_elsewhere_is_no_candidate(stream: PlainStream) -> None:
    stream.runs(3)
    stream.started(query=OTHER)
    stream.described(stream.home / "checkpoint/clicks", query=OTHER)
    _other(stream, last=2)
    assert json.loads(written(stream.plan())["metadata"]) == {"id": QUERY}
    assert "checkpoint/clicks" in reason(stream.plan(query_id=OTHER))


def test_a_checkpoint_that_is_still_there_is_not_given_twice(stream: PlainStream) -> None:
    stream.runs(3)
    moved = PlainStream(home=stream.home / "moved")
    moved.put("metadata", json.dumps({"id": QUERY}))
    moved.entry(3, committed=True)
    said = reason(stream.plan(among=stream.home / "moved"))
    assert f"is at {moved.checkpoint}: it is not gone" in said


def test_what_is_left_of_another_query_is_not_replaced(stream: PlainStream) -> None:
    stream.runs(3)
    stream.put("metadata", json.dumps({"id": OTHER}))
    assert "does not have query" in reason(stream.plan())
    assert f"is of query {OTHER}" in reason(stream.plan(query_id=QUERY))


def test_a_function_tells_no_sink(stream: PlainStream) -> None:
    """With `txnAppId` the table has versions of an application; nothing says whose they are."""
    stream.started()
    for batch in range(3):
        stream.ran(batch, sink="ForeachBatchSink")
        stream.commit(batch, query="orders-app", operation="WRITE", parameters={"mode": "Append"})
    stream.write_log()
    said = reason(stream.plan(query_id=QUERY))
    assert "writes to ForeachBatchSink" in said
    assert "version 2 of the application orders-app" in said


def test_a_table_that_took_the_place_of_another_is_refused(stream: PlainStream) -> None:
    stream.runs(3, in_table=-1)
    stream.commit(None, operation="CREATE TABLE", when=at(60))
    log = stream.table / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines[1]["metaData"]["createdTime"] = int(at(60).timestamp() * 1000)
    log.write_text("\n".join(json.dumps(line, separators=(",", ":")) for line in lines))
    assert "another table took its place" in reason(stream.plan())


def test_a_table_without_the_query_is_refused(stream: PlainStream) -> None:
    stream.runs(3, in_table=-1)
    stream.commit(0, query=OTHER)
    assert f"has no batch of query {QUERY}" in reason(stream.plan())


@pytest.mark.parametrize(
    ("operation", "parameters"), [("TRUNCATE", {}), ("WRITE", {"mode": "Overwrite"})]
)
def test_a_table_that_was_emptied_since_is_refused(
    stream: PlainStream, operation: str, parameters: dict[str, str]
) -> None:
    stream.runs(3)
    stream.commit(None, operation=operation, parameters=parameters)
    assert f"Version 4 ({operation})" in reason(stream.plan())


def test_a_restore_that_took_out_what_the_history_has_is_refused(stream: PlainStream) -> None:
    stream.runs(3)
    stream.commit(None, operation="RESTORE", parameters={"version": "1"})
    said = reason(stream.plan())
    assert "Version 4 (RESTORE)" in said
    assert "took batches 2 to 3 out" in said


def test_a_restore_that_took_out_what_the_history_lacks_is_continued(stream: PlainStream) -> None:
    """Delta keeps the number of the batch that is gone: the next batch must have a higher one."""
    stream.runs(3, in_table=4, keeps_offsets=False)
    stream.commit(None, operation="RESTORE", parameters={"version": "3"})
    plan = stream.plan()
    assert offsets_in(plan) == {"offsets/3": kafka(3), "offsets/4": kafka(3)}
    assert "commits/4" in written(plan)
    assert "as batch 5" in plan.impact[0].position  # type: ignore[union-attr]


def test_a_restore_to_a_later_version_changes_nothing(stream: PlainStream) -> None:
    stream.runs(3)
    stream.commit(None, operation="DELETE", parameters={"predicate": '["n = 1"]'})
    stream.commit(None, operation="RESTORE", parameters={"version": "3"})
    assert offsets_in(stream.plan()) == {"offsets/2": kafka(2), "offsets/3": kafka(3)}


def test_a_query_that_reads_the_same_and_wrote_since_is_refused(stream: PlainStream) -> None:
    stream.runs(3)
    _other(stream, last=1, source="KafkaV2[Subscribe[orders]]")
    stream.commit(0, query=OTHER, when=at(30))
    said = reason(stream.plan(query_id=QUERY))
    assert f"Query {OTHER} has written to" in said
    assert "it reads KafkaV2[Subscribe[orders]] too" in said


def test_a_query_that_reads_something_else_may_write_too(stream: PlainStream) -> None:
    stream.runs(3)
    _other(stream, last=1)
    stream.commit(0, query=OTHER, when=at(30))
    assert "offsets/3" in written(stream.plan(query_id=QUERY))


def test_an_unknown_query_that_wrote_since_is_refused(stream: PlainStream) -> None:
    stream.runs(3)
    stream.commit(0, query=OTHER, when=at(30))
    assert "what it reads is not in the event log" in reason(stream.plan())


def test_a_query_that_a_guarded_one_replaced_is_refused(stream: PlainStream) -> None:
    stream.runs(3)
    stream.commit(NATIVE_FENCE, files=[], when=at(40))
    assert "written by a guarded stream now" in reason(stream.plan())


def test_an_event_log_without_a_query_is_said(stream: PlainStream) -> None:
    stream.commit(0)
    assert "No query in the event log" in reason(stream.plan())


def _file_sink(stream: PlainStream, *, last: int, in_output: int) -> Path:
    out = stream.home / "files"
    stream.started()
    for batch in range(last + 1):
        stream.ran(batch, sink=f"FileSink[file:{out}]")
    stream.write_log()
    for batch in range(in_output + 1):
        entry = {"path": f"file://{out}/{batch}.parquet", "size": 1, "modificationTime": 1}
        file = out / "_spark_metadata" / str(batch)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"v1\n{json.dumps(entry)}")
    return out


def test_a_file_sink_that_agrees(stream: PlainStream) -> None:
    out = _file_sink(stream, last=3, in_output=3)
    assert offsets_in(stream.plan(out)) == {"offsets/2": kafka(2), "offsets/3": kafka(3)}


def test_a_file_sink_that_is_older_decides(stream: PlainStream) -> None:
    out = _file_sink(stream, last=3, in_output=2)
    assert offsets_in(stream.plan(out)) == {"offsets/1": kafka(1), "offsets/2": kafka(2)}


def test_a_file_sink_that_is_ahead_is_taken_back(stream: PlainStream) -> None:
    out = _file_sink(stream, last=3, in_output=5)
    plan = stream.plan(out)
    assert offsets_in(plan) == {"offsets/2": kafka(2), "offsets/3": kafka(3)}
    assert isinstance(plan, Plan)
    _, held, cut, _ = plan.steps
    assert isinstance(held, HoldTree)
    assert isinstance(cut, FillTree)
    gone = {f"_spark_metadata/{at}" for at in (4, 5)} | {"4.parquet", "5.parquet"}
    assert {each for each in cut.leaves_out if not each.endswith(".crc")} == gone
    assert set(plan.words) == {"destructive:orders", "unguarded:orders"}
    assert "batches 4 to 5 are read again" in plan.summary


def test_a_batch_that_a_file_sink_skipped_is_read_again(stream: PlainStream) -> None:
    """Batch 3 was written by a run that was killed; which range it had then is not known."""
    out = _file_sink(stream, last=2, in_output=3)
    stream.ran(3, sink=f"FileSink[file:{out}]", rows=0)
    stream.write_log()
    assert offsets_in(stream.plan(out)) == {"offsets/1": kafka(1), "offsets/2": kafka(2)}


def test_a_delta_table_that_is_ahead_is_taken_back_if_nothing_tells_the_range(
    stream: PlainStream,
) -> None:
    """Delta keeps the number of the batch that is taken out: it counts as an empty one."""
    stream.runs(3, in_table=5, keeps_offsets=False)
    plan = stream.plan()
    assert isinstance(plan, Plan)
    _, settled, _ = plan.steps
    assert isinstance(settled, SettleSink)
    assert settled.output == RestoreOutput(kept="3", aside="5")
    assert offsets_in(plan) == {"offsets/4": kafka(3), "offsets/5": kafka(3)}
    assert set(plan.words) == {"destructive:orders", "unguarded:orders"}


def test_a_file_sink_with_a_hole_is_refused(stream: PlainStream) -> None:
    out = _file_sink(stream, last=3, in_output=3)
    (out / "_spark_metadata/1").unlink()
    assert "batch 1 is missing" in reason(stream.plan(out))


def test_a_directory_without_a_log_is_refused(stream: PlainStream) -> None:
    out = _file_sink(stream, last=3, in_output=-1)
    out.mkdir()
    (out / "part-0.parquet").write_text("")
    assert "has no log of batches" in reason(stream.plan(out))
