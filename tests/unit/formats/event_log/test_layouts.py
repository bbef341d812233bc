"""Where event logs lie: one file, rolling, compacted, Databricks, many applications at once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast.formats.event_log import history as limits
from holdfast.formats.event_log.events import BatchProgress
from holdfast.formats.event_log.gathering import HistoryBuilder
from holdfast.formats.event_log.history import EventLogHistory, RunEnding
from holdfast.formats.event_log.lines import Lines
from holdfast.formats.event_log.read import read_batches, read_event_log

QUERY = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"
Event = Mapping[str, object]
_LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"


def run_id(number: int) -> str:
    """Return the id of a run."""
    return f"{number:08d}-0000-0000-0000-000000000000"


def start(run: int, *, query: str = QUERY, name: str | None = "orders") -> Event:
    """Return the event of a start."""
    at = f"2026-01-01T{run:02d}:00:00.000Z"
    ids = {"id": query, "runId": run_id(run), "name": name}
    return {"Event": f"{_LISTENER}QueryStartedEvent", **ids, "timestamp": at}


def batch(run: int, number: int, *, end: str | None = None) -> Event:
    """Return the event of a committed batch."""
    source = {
        "description": "KafkaV2[Subscribe[orders]]",
        "startOffset": f'{{"orders":{{"0":{number * 10}}}}}',
        "endOffset": end or f'{{"orders":{{"0":{number * 10 + 10}}}}}',
        "numInputRows": 10,
    }
    progress = {
        "id": QUERY,
        "runId": run_id(run),
        "name": "orders",
        "timestamp": f"2026-01-01T{run:02d}:{number % 60:02d}:01.000Z",
        "batchId": number,
        "durationMs": {"addBatch": 5, "triggerExecution": 9},
        "stateOperators": [],
        "sources": [source],
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
    }
    return {"Event": f"{_LISTENER}QueryProgressEvent", "progress": progress}


def ended(run: int, error: str | None = None) -> Event:
    """Return the event of an end."""
    ids = {"id": QUERY, "runId": run_id(run)}
    return {"Event": f"{_LISTENER}QueryTerminatedEvent", **ids, "exception": error}


BEGIN: Event = {"Event": "SparkListenerLogStart", "Spark Version": "4.2.1"}
END: Event = {"Event": "SparkListenerApplicationEnd", "Timestamp": 1}


def text(*events: Event) -> bytes:
    """Return events as Spark writes them."""
    dumped = (json.dumps(each, separators=(",", ":")) for each in events)
    return "".join(f"{each}\n" for each in dumped).encode()


def read(location: Path) -> EventLogHistory:
    """Read the history of the query."""
    return read_event_log(str(location), query_id=QUERY)


def test_rolling_files_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    for number in range(1, 12):
        events = [batch(1, number - 1)]
        if number == 1:
            events = [BEGIN, start(1), *events]
        (directory / f"events_{number}_app-1").write_bytes(text(*events))
    (directory / "appstatus_app-1.inprogress").touch()
    found = read(tmp_path)
    assert [each.batch_id for each in found.batches] == list(range(11))
    assert found.runs[0].spark == "4.2.1"
    assert found.without_end == ("eventlog_v2_app-1",)
    assert read(directory).batch_count == 11


def test_a_rolling_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    (directory / "events_1_app-1").write_bytes(text(BEGIN, start(1), batch(1, 0)))
    (directory / "events_3_app-1").write_bytes(text(batch(1, 4), ended(1), END))
    found = read(tmp_path)
    assert [each.path for each in found.unread] == ["eventlog_v2_app-1/events_2_…"]
    assert found.missing_batches == ((1, 3),)


def test_compaction_replaces_what_is_before_it_and_the_lost_batches_are_said(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    (directory / "events_1_app-1").write_bytes(text(BEGIN, start(1), batch(1, 0)))
    (directory / "events_2_app-1.compact").write_bytes(text(BEGIN, start(1)))
    (directory / "events_3_app-1").write_bytes(text(batch(1, 7), ended(1), END))
    found = read(tmp_path)
    assert found.compacted == ("eventlog_v2_app-1",)
    assert found.missing_batches == ((0, 6),)
    assert found.runs[0].ending is RunEnding.ENDED


def test_an_application_without_any_file_is_said_as_on_an_object_store(tmp_path: Path) -> None:
    directory = tmp_path / "eventlog_v2_app-1"
    directory.mkdir()
    (directory / "appstatus_app-1.inprogress").touch()
    found = read(tmp_path)
    (unread,) = found.unread
    assert unread.why.startswith("it has no events yet")


def test_the_cluster_logs_of_databricks(tmp_path: Path) -> None:
    directory = tmp_path / "0101-cluster" / "eventlog" / "host" / "5"
    directory.mkdir(parents=True)
    packed = gzip.compress(text(BEGIN, start(1))) + gzip.compress(text(batch(1, 0)))
    (directory / "eventlog-2026-01-01--00-10.gz").write_bytes(packed)
    (directory / "eventlog").write_bytes(text(batch(1, 1), ended(1, "boom\n\tat X")))
    (run,) = read(tmp_path).runs
    assert (run.first_batch, run.last_batch, run.error_line) == (0, 1, "boom")


def test_many_applications_and_files_that_are_no_log(tmp_path: Path) -> None:
    (tmp_path / "app-2").write_bytes(text(BEGIN, start(2), batch(2, 1), ended(2), END))
    (tmp_path / "app-1").write_bytes(text(BEGIN, start(1), batch(1, 0), ended(1, "x"), END))
    (tmp_path / "app-3").write_bytes(text(BEGIN, start(3, query=OTHER), END))
    (tmp_path / "notes.txt").write_text("not a log\n")
    (tmp_path / "image").write_bytes(bytes(range(256)))
    found = read(tmp_path)
    assert [each.ending for each in found.runs] == [RunEnding.FAILED, RunEnding.ENDED]
    assert [each.batch_id for each in found.batches] == [0, 1]
    assert (found.applications, found.not_logs) == (3, 2)
    assert [each.query_id for each in found.others] == [OTHER]
    assert found.without_end == ()


def test_a_batch_that_no_log_has_is_missing(tmp_path: Path) -> None:
    events = [BEGIN, start(1), batch(1, 3), batch(1, 4), batch(1, 9), ended(1), END]
    (tmp_path / "app-1").write_bytes(text(*events))
    assert read(tmp_path).missing_batches == ((0, 2), (5, 8))


def test_only_the_newest_are_kept_and_the_others_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.formats.event_log.gathering.MOST_BATCHES", 4)
    events = [BEGIN, start(1), *(batch(1, number) for number in range(10)), END]
    (tmp_path / "app-1").write_bytes(text(*events))
    found = read(tmp_path)
    assert [each.batch_id for each in found.batches] == [6, 7, 8, 9]
    assert (found.older_batches, found.batch_count) == (6, 10)
    assert found.runs[0].batches == 10
    assert found.missing_batches == ()
    assert len(list(read_batches(str(tmp_path), query_id=QUERY))) == 10
    assert limits.MOST_BATCHES == 1_000


def test_wide_offsets_count_by_their_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.formats.event_log.gathering.MOST_BATCH_CHARACTERS", 250)
    events = [BEGIN, start(1), *(batch(1, number, end="9" * 100) for number in range(5)), END]
    (tmp_path / "app-1").write_bytes(text(*events))
    assert [each.batch_id for each in read(tmp_path).batches] == [3, 4]


def test_other_texts_count_where_they_are_more_than_usual() -> None:
    builder = HistoryBuilder("q")
    measured = {f"{number}{'x' * 90}": 1 for number in range(1_000)}
    for number in range(500):
        builder.take(
            BatchProgress(
                query_id="q",
                run_id="r",
                name=None,
                batch_id=number,
                at=f"{number:03}",
                durations_ms=measured,
                sources=(),
                states=(),
                sink="x",
                rows=0,
            )
        )
    assert builder.batches[-1].batch_id == 499
    assert 50 < len(builder.batches) < 120
    assert len(builder.batches) + builder.older_batches == 500


def test_a_line_that_is_too_long_is_passed_over_and_counted() -> None:
    lines = Lines(iter([b"a\nbbb", b"bbb", b"b\nc\n", b"ddddddd"]), longest=5)
    assert list(lines) == [b"a", b"c"]
    assert lines.too_long == 2


def test_nothing_at_the_location(tmp_path: Path) -> None:
    found = read(tmp_path / "absent")
    assert (found.applications, found.runs) == (0, ())
