"""One line of an event log to one value; hostile lines are values too."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.formats.event_log.events import (
    BatchBegun,
    BatchProgress,
    QueryEnded,
    QueryIdle,
    UnreadEvent,
)
from holdfast.formats.event_log.history import QueryRun, RunEnding
from holdfast.formats.event_log.parsing import parse_event, parse_first_batch

RUN = "99999999-9999-4999-8999-999999999999"
QUERY = "11111111-1111-4111-8111-111111111111"
_LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
PROGRESS = {
    "id": QUERY,
    "runId": RUN,
    "name": None,
    "timestamp": "2026-01-01T00:00:00.000Z",
    "batchId": 7,
    "durationMs": {"addBatch": 1},
    "sources": [{"description": "x", "startOffset": {"a": 1}, "endOffset": "2"}],
    "sink": {"description": "s"},
}


def line(event: Mapping[str, object]) -> bytes:
    """Return an event as Spark writes it."""
    return json.dumps(event, separators=(",", ":")).encode()


def execution(plan: str) -> bytes:
    """Return the start of an execution of batch 3."""
    described = f"orders\nid = {QUERY}\nrunId = {RUN}\nbatch = 3"
    return line({"Event": _SQL, "description": described, "physicalPlanDescription": plan})


def test_a_progress_that_is_json_in_a_string_as_before_spark_3_5() -> None:
    event = {"Event": f"{_LISTENER}QueryProgressEvent", "progress": json.dumps(PROGRESS)}
    found = parse_event(line(event))
    assert isinstance(found, BatchProgress)
    assert found.batch_id == 7
    assert (found.sources[0].start, found.sources[0].end) == ('{"a":1}', "2")


def test_a_trigger_without_a_batch_is_idle_whatever_number_it_has() -> None:
    progress = {**PROGRESS, "durationMs": {"latestOffset": 3, "triggerExecution": 3}}
    found = parse_event(line({"Event": f"{_LISTENER}QueryProgressEvent", "progress": progress}))
    assert found == QueryIdle(query_id=QUERY, run_id=RUN)


def test_the_plan_of_a_stateful_batch_names_checkpoint_and_output_mode() -> None:
    info = f"state info [ checkpoint = s3a://lake/cp/state, runId = {RUN}, opId = 0, ver = 3]"
    found = parse_event(execution(f"StateStoreSave\nArguments: [k#1], {info}, Complete, 0, 2"))
    assert found == BatchBegun(
        run_id=RUN, batch_id=3, checkpoint="s3a://lake/cp", output_mode="complete"
    )


@pytest.mark.parametrize(
    "info",
    [
        f"state info [ checkpoint = <unknown>, runId = {RUN}, opId = 0]",
        f"state info [ checkpoint = s3a://lake/cp/state, runId = {QUERY}, opId = 0]",
    ],
)
def test_a_plan_that_spark_3_5_prints_as_a_batch_query_tells_nothing(info: str) -> None:
    found = parse_event(execution(f"StateStoreSave\nArguments: [k#1], {info}, Append, 0, 2"))
    assert found == BatchBegun(run_id=RUN, batch_id=3)


def test_of_other_queries_only_their_start_is_parsed() -> None:
    progress = line({"Event": f"{_LISTENER}QueryProgressEvent", "progress": PROGRESS})
    assert parse_event(progress, b"another") is None
    started = {"Event": f"{_LISTENER}QueryStartedEvent", "id": QUERY, "runId": RUN}
    assert parse_event(line({**started, "timestamp": "t"}), b"another") is not None


def test_an_exception_comes_without_secrets_and_pythons_own_words_are_found() -> None:
    error = (
        "py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: "
        'Traceback (most recent call last):\n  File "job.py", line 3\nOSError: '
        "postgresql://me:hunter22@db is away\n\n\tat py4j.Protocol.getReturnValue(P.java:4)"
    )
    event = {"Event": f"{_LISTENER}QueryTerminatedEvent", "id": QUERY, "runId": RUN}
    found = parse_event(line({**event, "exception": error}))
    assert isinstance(found, QueryEnded)
    assert "hunter22" not in str(found.error)
    run = QueryRun(
        query_id=QUERY,
        run_id=RUN,
        name=None,
        application="a",
        application_id=None,
        spark=None,
        began_at=None,
        ending=RunEnding.FAILED,
        error=found.error,
    )
    assert run.error_line == "OSError: postgresql://***@db is away"


def test_settings_by_a_name_or_a_value_of_a_secret_are_hidden() -> None:
    given = {
        "spark.hadoop.fs.azure.account.key.x": "c2VjcmV0c2VjcmV0",
        "spark.my.token": "abc",
        "spark.url": "mysql://a:b@host/db",
        "spark.sql.shuffle.partitions": "8",
    }
    found = parse_first_batch(line({"Event": _SQL, "modifiedConfigs": given}))[0]
    assert found["spark.my.token"] == "***"
    assert found["spark.url"] == "mysql://***@host/db"
    assert found["spark.sql.shuffle.partitions"] == "8"
    assert "c2VjcmV0c2VjcmV0" not in repr(found)


@pytest.mark.parametrize("progress", [None, [], {}, "not json", {**PROGRESS, "batchId": "x"}])
def test_a_progress_of_another_form_is_counted_and_not_guessed(progress: object) -> None:
    event = {"Event": f"{_LISTENER}QueryProgressEvent", "progress": progress}
    assert isinstance(parse_event(line(event)), UnreadEvent)


@pytest.mark.parametrize(
    "part",
    [
        "state info [ checkpoint = ",
        "state info [ checkpoint = a/state, runId = ",
        f"state info [ checkpoint = a/state, runId = {QUERY}",
    ],
)
def test_a_hostile_plan_takes_no_longer_than_its_length(part: str) -> None:
    hostile = execution(part * ((1 << 20) // len(part)))
    begun = time.process_time()
    assert parse_event(hostile) == BatchBegun(run_id=RUN, batch_id=3)
    assert time.process_time() - begun < 2


def test_texts_are_cut_and_offsets_are_whole() -> None:
    long = "x" * 100_000
    progress = {
        **PROGRESS,
        **dict.fromkeys(("runId", "name", "timestamp"), long),
        "durationMs": {"addBatch": 1, long: 2},
        "sources": [{"description": long, "startOffset": long, "endOffset": long}] * 500,
        "stateOperators": [{"operatorName": long}] * 500,
        "sink": {"description": long},
        "eventTime": {"watermark": long},
    }
    found = parse_event(line({"Event": f"{_LISTENER}QueryProgressEvent", "progress": progress}))
    assert isinstance(found, BatchProgress)
    assert {len(each.end or "") for each in found.sources} == {100_000}
    assert len(found.sources) == 500
    kept = repr(replace(found, sources=())) + "".join(each.description for each in found.sources)
    assert len(kept) < 300_000


@pytest.mark.parametrize("part", ["sources", "stateOperators", "durationMs"])
def test_a_batch_of_more_parts_than_any_query_has_is_not_read_in_part(part: str) -> None:
    source = {"description": "x", "startOffset": 1, "endOffset": 2}
    parts = {
        "sources": [source] * 1_001,
        "stateOperators": [{"operatorName": "x"}] * 1_001,
        "durationMs": {"addBatch": 1, **{str(number): 1 for number in range(1_000)}},
    }
    event = {"Event": f"{_LISTENER}QueryProgressEvent", "progress": {**PROGRESS, part: parts[part]}}
    assert isinstance(parse_event(line(event)), UnreadEvent)


def test_settings_are_cut_one_by_one_and_together() -> None:
    given = {f"spark.a{number}": "x" * 10_000 for number in range(1_000)}
    found = parse_first_batch(line({"Event": _SQL, "modifiedConfigs": given}))[0]
    assert found["spark.a0"] == "x" * 4_096
    assert sum(map(len, found.values())) <= 1 << 18


def test_a_secret_at_the_end_of_what_is_kept_is_hidden() -> None:
    url = "x" * 4_080 + " mysql://me:hunter22@host/db"
    progress = {**PROGRESS, "sink": {"description": url}}
    found = parse_event(line({"Event": f"{_LISTENER}QueryProgressEvent", "progress": progress}))
    assert "hun" not in repr(found)


@given(st.binary(max_size=300), st.sampled_from(["QueryProgressEvent", "QueryStartedEvent"]))
def test_no_line_makes_it_raise(rest: bytes, kind: str) -> None:
    parse_event(f'{{"Event":"{_LISTENER}{kind}"'.encode() + rest)
    parse_event(f'{{"Event":"{_SQL}"'.encode() + rest)
    parse_first_batch(rest)


@given(st.integers(0, 500), st.integers(0, 255))
def test_a_changed_byte_never_raises(at: int, byte: int) -> None:
    whole = bytearray(line({"Event": f"{_LISTENER}QueryProgressEvent", "progress": PROGRESS}))
    whole[at % len(whole)] = byte
    parse_event(bytes(whole))
