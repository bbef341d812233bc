"""The checkpoint of a plain stream, given back: history and sink in every disagreement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from tests.unit.plan.plain_on_disk import (
    QUERY,
    PlainStream,
    at,
    kafka,
    offsets_in,
    reason,
    removed,
    written,
)

pytestmark = pytest.mark.unit

OTHER = "9d1f0000-0000-4000-8000-000000000002"


@pytest.fixture
def stream(tmp_path: Path) -> PlainStream:
    return PlainStream(home=tmp_path)


def test_history_and_table_agree(stream: PlainStream) -> None:
    stream.runs(4)
    plan = stream.plan()
    files = written(plan)
    assert list(files) == ["offsets/3", "offsets/4", "commits/4", "metadata"]
    assert json.loads(files["metadata"]) == {"id": QUERY}
    assert files["commits/4"] == 'v1\n{"nextBatchWatermarkMs":0}'
    assert offsets_in(plan) == {"offsets/3": kafka(3), "offsets/4": kafka(4)}
    first, line, _ = files["offsets/4"].split("\n")
    assert first == "v1"
    assert json.loads(line) == {
        "batchWatermarkMs": 0,
        "batchTimestampMs": int(at(4).timestamp() * 1000),
        "conf": {},
    }


def test_the_first_batch_has_no_entry_before_it(stream: PlainStream) -> None:
    stream.runs(0)
    assert offsets_in(stream.plan()) == {"offsets/0": kafka(0)}


def test_the_settings_of_the_last_run_are_in_the_entries(stream: PlainStream) -> None:
    said = {"spark.sql.shuffle.partitions": "7", "spark.app.name": "orders"}
    event = {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": said}
    stream.events.append(json.dumps(event, separators=(",", ":")))
    stream.runs(2)
    line = json.loads(written(stream.plan())["offsets/2"].split("\n")[1])
    assert line["conf"] == {"spark.sql.shuffle.partitions": "7"}


@pytest.mark.parametrize("ahead", [1, 2])
def test_batches_that_only_the_table_has_are_found_in_its_files(
    stream: PlainStream, ahead: int
) -> None:
    stream.runs(4, in_table=4 + ahead)
    assert offsets_in(stream.plan()) == {
        f"offsets/{3 + ahead}": kafka(3 + ahead),
        f"offsets/{4 + ahead}": kafka(4 + ahead),
    }


def test_rows_that_a_filter_dropped_at_the_end_are_read_again(stream: PlainStream) -> None:
    stream.runs(4)
    kept = [stream.file({"partition": 0, "offset": (52, 57)}), stream.file({}, records=0)]
    stream.commit(5, files=kept)
    ends = {"orders": {"0": 58, "1": 50}}
    assert offsets_in(stream.plan()) == {"offsets/4": kafka(4), "offsets/5": ends}


def test_columns_of_another_name_count_if_known_batches_fit(stream: PlainStream) -> None:
    stream.started()
    names = ("kafka_partition", "kafka_offset")
    for batch in range(4):
        stream.commit(batch, files=stream.files(batch, names=names))
    for batch in range(3):
        stream.ran(batch)
    stream.write_log()
    assert offsets_in(stream.plan()) == {"offsets/2": kafka(2), "offsets/3": kafka(3)}


def test_a_table_that_is_older_than_the_history_decides(stream: PlainStream) -> None:
    stream.runs(4, in_table=2)
    assert offsets_in(stream.plan()) == {"offsets/1": kafka(1), "offsets/2": kafka(2)}


def test_the_same_batch_with_two_ranges_is_refused(stream: PlainStream) -> None:
    stream.runs(4)
    stream.ran(4, kafka(4, extra=3), run=OTHER, when=at(9))
    stream.write_log()
    assert "Batch 4 of orders ran twice, over different ranges" in reason(stream.plan())


def test_a_batch_that_ran_twice_over_the_same_range_is_not_refused(stream: PlainStream) -> None:
    stream.runs(4)
    stream.ran(3, run=OTHER, when=at(3, later=30))
    stream.write_log()
    assert "offsets/4" in written(stream.plan())


def test_a_batch_that_delta_skipped_counts_by_what_the_table_has(stream: PlainStream) -> None:
    """Batch 5 was written by a run that was killed, then planned again with a longer range."""
    stream.runs(4, in_table=5)
    stream.ran(5, kafka(9), when=at(30), rows=0)
    stream.write_log()
    assert offsets_in(stream.plan()) == {"offsets/4": kafka(4), "offsets/5": kafka(5)}


def test_a_newer_run_that_went_back_is_refused(stream: PlainStream) -> None:
    stream.runs(6)
    stream.ran(3, run=OTHER, when=at(20))
    stream.write_log()
    assert "its checkpoint went back in between" in reason(stream.plan())


def test_state_is_refused_by_name(stream: PlainStream) -> None:
    stream.started()
    stream.ran(0, operators=["stateStoreSave"])
    stream.commit(0)
    stream.write_log()
    assert "orders keeps state (stateStoreSave)" in reason(stream.plan())


@pytest.mark.parametrize(
    ("source", "end", "said"),
    [
        ("FileStreamSource[file:/in]", {"logOffset": 3}, "sources/0 is gone"),
        ("RateStreamV2[rowsPerSecond=1]", 7, "keeps more in the checkpoint"),
        ("CloudFilesSource[/in]", {"seqNum": 3, "sourceVersion": 1}, "keeps more"),
        ("custom", "text", "keeps more"),
    ],
)
def test_sources_that_an_offset_does_not_continue_are_refused(  # noqa: PLR0917 - parameters
    stream: PlainStream, source: str, end: object, said: str
) -> None:
    stream.started()
    stream.ran(0, end, source=source)
    stream.commit(0)
    stream.write_log()
    assert said in reason(stream.plan())


def test_a_file_source_whose_log_is_left_is_given_back(stream: PlainStream) -> None:
    stream.started()
    stream.ran(1, {"logOffset": 1}, start={"logOffset": 0}, source="FileStreamSource[file:/in]")
    for batch in (0, 1):
        stream.commit(batch)
        line = {"path": f"file:///in/{batch}", "timestamp": 1, "batchId": batch}
        stream.put(f"sources/0/{batch}", f"v1\n{json.dumps(line)}")
    stream.write_log()
    ends = {"offsets/0": {"logOffset": 0}, "offsets/1": {"logOffset": 1}}
    assert offsets_in(stream.plan()) == ends
    (stream.checkpoint / "sources/0/0").unlink()
    assert "sources/0 is gone" in reason(stream.plan())


def test_a_delta_source_goes_on_at_its_version(stream: PlainStream) -> None:
    stream.started()
    ends = [
        {"sourceVersion": 1, "reservoirId": "r", "reservoirVersion": at_, "index": -1}
        for at_ in (1, 2)
    ]
    stream.ran(0, ends[0], source="DeltaSource[file:/in]")
    stream.ran(1, ends[1], start=ends[0], source="DeltaSource[file:/in]")
    for batch in (0, 1):
        stream.commit(batch, files=stream.without_columns(batch))
    stream.write_log()
    assert offsets_in(stream.plan()) == {"offsets/0": ends[0], "offsets/1": ends[1]}


def test_a_compacted_log_has_no_batches(stream: PlainStream) -> None:
    """The history server keeps the starts and removes the progress of every batch."""
    stream.runs(2)
    directory = stream.log / "eventlog_v2_app-1"
    directory.mkdir()
    lines = (stream.log / "app-1").read_text().splitlines()
    (stream.log / "app-1").unlink()
    (directory / "events_2_app-1.compact").write_text("\n".join(lines[:2]) + "\n")
    said = reason(stream.plan(query_id=QUERY))
    assert "1 start of the query, and no batch" in said
    assert "compacted" in said


def test_a_log_that_was_cut_is_held_against_the_table(stream: PlainStream) -> None:
    stream.runs(4)
    file = stream.log / "app-1"
    file.write_bytes(file.read_bytes()[:-40])
    assert offsets_in(stream.plan()) == {"offsets/3": kafka(3), "offsets/4": kafka(4)}


def test_columns_that_are_no_offsets_are_not_taken_for_them(stream: PlainStream) -> None:
    """A column with the right name whose values are not the offsets of known batches."""
    stream.started()
    for batch in range(4):
        wrong = [stream.file({"partition": each, "tz_offset": (0, 3)}) for each in (0, 1)]
        stream.commit(batch, files=wrong)
    for batch in range(3):
        stream.ran(batch)
    stream.commit(None, operation="WRITE", parameters={"mode": "Append"})
    stream.write_log()
    said = reason(stream.plan())
    assert "Batch 3 is in the Delta table" in said
    assert "no columns whose statistics give" in said
    assert "committed by another writer" in said


def test_a_file_with_two_partitions_tells_no_range(stream: PlainStream) -> None:
    stream.runs(3)
    stream.commit(4, files=[stream.file({"partition": (0, 1), "offset": (40, 49)}, records=20)])
    stream.commit(None, operation="OPTIMIZE")
    assert "cannot be known" in reason(stream.plan())


def test_files_that_begin_before_the_batch_tell_no_range(stream: PlainStream) -> None:
    stream.runs(3)
    files = [stream.file({"partition": each, "offset": (35, 49)}) for each in (0, 1)]
    stream.commit(4, files=files)
    stream.commit(None, operation="OPTIMIZE")
    assert "do not begin where the batch before them ended" in reason(stream.plan())


def test_entries_that_are_left_stay_and_the_others_are_written(stream: PlainStream) -> None:
    stream.runs(4)
    stream.put("metadata", json.dumps({"id": QUERY}))
    stream.entry(3, committed=True)
    stream.put("commits/4", 'v1\n{"nextBatchWatermarkMs":0}')
    assert list(written(stream.plan())) == ["offsets/4"]


def test_a_pending_batch_that_is_left_stays_pending(stream: PlainStream) -> None:
    stream.runs(4)
    stream.entry(5, kafka(5, extra=2))
    plan = stream.plan()
    assert list(written(plan)) == ["offsets/3", "offsets/4", "commits/4", "metadata"]
    assert removed(plan) == []
    assert "as the pending batch 5" in plan.impact[0].position  # type: ignore[union-attr]


def test_an_entry_that_is_left_tells_the_range_of_a_batch_in_the_table(stream: PlainStream) -> None:
    stream.runs(4, in_table=5, keeps_offsets=False)
    stream.entry(5)
    assert list(written(stream.plan())) == ["offsets/4", "commits/5", "metadata"]


def test_entries_of_another_query_are_refused(stream: PlainStream) -> None:
    stream.runs(4)
    stream.entry(2, kafka(7))
    assert "is not of query" in reason(stream.plan())


def test_entries_after_what_the_table_has_are_removed(stream: PlainStream) -> None:
    """An older copy of the table stands there: Spark must not begin after it."""
    stream.runs(4, in_table=2)
    stream.put("commits/4", 'v1\n{"nextBatchWatermarkMs":0}')
    plan = stream.plan()
    assert removed(plan) == ["commits/4"]
    assert list(written(plan)) == ["offsets/1", "offsets/2", "commits/2", "metadata"]


def test_a_source_that_is_read_twice_is_refused_by_what_is_left(stream: PlainStream) -> None:
    stream.runs(4)
    end = json.dumps(kafka(2))
    stream.put("offsets/2", f'v1\n{{"batchWatermarkMs":0,"conf":{{}}}}\n{end}\n{end}')
    assert "offsets/2 of orders has 2 sources" in reason(stream.plan())


def test_a_checkpoint_that_is_older_than_the_history_is_brought_up_to_it(
    stream: PlainStream,
) -> None:
    stream.runs(4)
    stream.put("metadata", json.dumps({"id": QUERY}))
    for batch in range(3):
        stream.entry(batch, committed=True)
    assert list(written(stream.plan())) == ["offsets/3", "offsets/4", "commits/4"]


def test_a_whole_checkpoint_is_left_alone(stream: PlainStream) -> None:
    stream.runs(4)
    stream.put("metadata", json.dumps({"id": QUERY}))
    for batch in range(5):
        stream.entry(batch, committed=True)
    plan = stream.plan()
    assert "Nothing keeps orders from starting" in reason(plan)


@pytest.mark.parametrize("in_table", [2, 4, 5, 6])
def test_what_is_given_back_is_fine_by_every_rule(stream: PlainStream, in_table: int) -> None:
    stream.runs(4, in_table=in_table)
    for path, text in written(stream.plan()).items():
        stream.put(path, text)
    again = stream.plan()
    assert "Nothing keeps orders from starting" in reason(again)
    assert again.is_fine == (in_table >= 4)  # type: ignore[union-attr]


def test_entries_that_are_gone_are_not_planned_again_below_a_sink_that_skips(
    stream: PlainStream,
) -> None:
    """Without the event log, the ranges of batches that the table has are not known."""
    stream.runs(4)
    stream.put("metadata", json.dumps({"id": QUERY}))
    stream.entry(2, committed=True)
    stream.put("commits/4", 'v1\n{"nextBatchWatermarkMs":0}')
    said = reason(stream.plan(event_log=False))
    assert "would be lost without an error" in said
    assert "--event-log" in said
    assert list(written(stream.plan())) == ["offsets/3", "offsets/4"]


@pytest.mark.parametrize("left", ["offsets/4", "offsets/.4.crc"])
@pytest.mark.parametrize("in_table", [3, 4])
def test_a_batch_that_the_sink_has_is_not_planned_anew(
    stream: PlainStream, left: str, in_table: int
) -> None:
    """Spark's own sinks leave out a batch that they have, with what has arrived since."""
    stream.runs(4, in_table=in_table)
    stream.put("metadata", json.dumps({"id": QUERY}))
    for batch in range(4):
        stream.entry(batch, committed=True)
    stream.put(left, "")
    plan = stream.plan(event_log=False)
    if in_table == 4:
        assert "would be lost without an error" in reason(plan)
        return
    assert isinstance(plan, Plan)
    assert not any(each.startswith("skips-data") for each in plan.words)


def test_whether_a_sink_has_a_batch_is_asked_for_where_nobody_looked(stream: PlainStream) -> None:
    stream.put("metadata", json.dumps({"id": QUERY}))
    for batch in range(4):
        stream.entry(batch, committed=True)
    stream.put("offsets/4", "")
    looks = DiagnoseRequest(location=str(stream.checkpoint))
    plan = make_plan(Request(goal="resume"), looks)
    assert isinstance(plan, Plan)
    assert "skips-data:orders" in plan.words
