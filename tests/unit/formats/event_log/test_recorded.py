"""Logs of real Spark 3.5 and 4.2: the history is what Spark itself said while it ran."""

from __future__ import annotations

import pytest

from holdfast.formats.event_log.history import RunEnding
from holdfast.formats.event_log.read import read_batches, read_event_log
from holdfast.storage.location import parse_location
from tests.event_logs import NAMES, recorded

_ENDINGS = {
    "stopped": RunEnding.ENDED,
    "failed": RunEnding.FAILED,
    "killed": RunEnding.NOT_IN_LOG,
}


@pytest.mark.parametrize("name", NAMES)
def test_every_start_and_end_is_what_spark_did(name: str) -> None:
    log = recorded(name)
    history = read_event_log(str(log.events), query_id=log.query_id)
    (run,) = history.runs
    assert run.run_id == log.answers["run_id"]
    assert run.spark == log.answers["spark"]
    assert run.name == "readings"
    assert run.ending is _ENDINGS[log.answers["way"]]
    assert (history.without_end == ()) == (log.answers["way"] != "killed")
    assert history.unread == ()
    assert history.missing_batches == ()


@pytest.mark.parametrize("name", NAMES)
def test_every_batch_has_the_offsets_rows_and_times_that_spark_reported(name: str) -> None:
    log = recorded(name)
    told = [
        {
            "batchId": each.batch_id,
            "timestamp": each.at,
            "numInputRows": each.rows,
            "durationMs": dict(each.durations_ms),
            "offsets": [(source.start, source.end) for source in each.sources],
            "state": [(state.operator, state.rows, state.memory_bytes) for state in each.states],
        }
        for each in read_batches(str(log.events), query_id=log.query_id)
    ]
    assert told == [
        {
            **{key: each[key] for key in ("batchId", "timestamp", "numInputRows", "durationMs")},
            "offsets": [(_text(s["startOffset"]), _text(s["endOffset"])) for s in each["sources"]],
            "state": [
                (s["operatorName"], s["numRowsTotal"], s["memoryUsedBytes"])
                for s in each["stateOperators"]
            ],
        }
        for each in log.answers["batches"]
    ]


def _text(offset: object) -> str | None:
    """Return an offset as the checkpoint has it; PySpark's own JSON has it parsed."""
    return None if offset is None else str(offset).replace("'", '"').replace(" ", "")


@pytest.mark.parametrize("name", ["3.5-failed", "4.2-failed"])
def test_a_failure_says_which_exception_and_which_batch_began(name: str) -> None:
    log = recorded(name)
    history = read_event_log(str(log.events), query_id=log.query_id)
    run = history.newest
    assert run is not None
    assert "told to fail" in str(run.error)
    assert (run.last_batch, run.begun_batch) == (1, 2)
    assert "\n" not in str(run.error_line)


@pytest.mark.parametrize("name", ["3.5-stateful", "4.2-stateful"])
def test_a_stateful_query_names_its_checkpoint_and_its_output_mode(name: str) -> None:
    log = recorded(name)
    run = read_event_log(str(log.events), query_id=log.query_id).newest
    assert run is not None
    assert run.checkpoint == "file:/tmp/holdfast-event-logs/stream/checkpoint"
    assert run.output_mode == "update"
    assert run.operators == ("stateStoreSave",)
    assert run.uses_rocksdb


@pytest.mark.parametrize("name", ["3.5-stateful", "4.2-stateful"])
def test_without_a_query_id_a_stateful_query_is_found_by_its_checkpoint(name: str) -> None:
    log = recorded(name)
    place = parse_location("/tmp/holdfast-event-logs/stream/checkpoint")
    history = read_event_log(str(log.events), query_id=None, checkpoint=place)
    assert history.query_id == log.query_id
    assert history.count == 1


@pytest.mark.parametrize("name", ["3.5-killed", "4.2-killed"])
def test_the_plans_of_a_stateless_query_do_not_name_its_checkpoint(name: str) -> None:
    log = recorded(name)
    place = parse_location("/tmp/holdfast-event-logs/stream/checkpoint")
    history = read_event_log(str(log.events), query_id=None, checkpoint=place)
    assert history.query_id is None
    assert history.runs == ()
    assert [each.query_id for each in history.others] == [log.query_id]


@pytest.mark.parametrize("name", ["3.5-stopped", "4.2-failed"])
def test_settings_come_without_their_secrets(name: str) -> None:
    log = recorded(name)
    history = read_event_log(str(log.events), query_id=log.query_id)
    run = history.newest
    assert run is not None
    assert run.settings["spark.sql.session.timeZone"] == "UTC"
    assert run.settings["spark.hadoop.fs.s3a.secret.key"] == "***"
    assert run.settings["spark.stream.url"] == "jdbc:postgresql://***@db/readings"
    assert "planted-word" not in repr(history)


def test_a_file_is_a_location_too() -> None:
    log = recorded("3.5-stopped")
    assert read_event_log(str(log.file), query_id=log.query_id).count == 1


def test_another_query_has_no_history_here_and_this_one_is_named() -> None:
    log = recorded("4.2-killed")
    history = read_event_log(str(log.events), query_id="0" * 36)
    assert history.runs == ()
    assert history.without_end == ()
    assert [each.name for each in history.others] == ["readings"]
