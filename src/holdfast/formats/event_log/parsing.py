r"""The events of Spark's event log that tell of streaming queries: one line to one value.

From Spark 4.2 `core/…/util/JsonProtocol.scala` and `sql/…/streaming/StreamingQueryListener.scala`;
each line is one JSON object that begins with its class:

    {"Event":"…StreamingQueryListener$QueryStartedEvent","id":…,"runId":…,"name":…,"timestamp":…}
    {"Event":"…StreamingQueryListener$QueryProgressEvent","progress":{…}}   a string before 3.5
    {"Event":"…StreamingQueryListener$QueryTerminatedEvent","id":…,"runId":…,"exception":…}
    {"Event":"…SparkListenerSQLExecutionStart","description":"…\nbatch = N",…,"modifiedConfigs":{…}}

A progress of a trigger that ran no batch has no `addBatch` among its durations, and the number of a
batch that is still to come. The end of a query has no time. Lines are hostile: none makes this
raise. What is kept of them has no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from typing import Any

import msgspec

from holdfast.formats.event_log.events import (
    ApplicationFacts,
    BatchBegun,
    BatchProgress,
    Event,
    QueryDescribed,
    QueryEnded,
    QueryIdle,
    QueryStarted,
    SourceProgress,
    StateProgress,
    UnreadEvent,
)
from holdfast.formats.event_log.plans import UUID, PlanParts, parse_parts, parse_plan
from holdfast.printable import printable
from holdfast.redact import HIDDEN, redact

EVENT_CLASS = "org.apache.spark.sql.streaming.StreamingQueryListener$"
DESCRIBED = "holdfast.QueryDescribed"
"""An event of Holdfast's own, in what `hf.record_queries` writes."""
_BEGIN = b'{"Event":"'
_STREAMING = _BEGIN + EVENT_CLASS.encode()
_DESCRIPTION = _BEGIN + DESCRIBED.encode()
_STARTED = _STREAMING + b"QueryStartedEvent"
_SQL_START = _BEGIN + b"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
_APPLICATION = tuple(
    _BEGIN + name
    for name in (
        b"SparkListenerLogStart",
        b"SparkListenerApplicationStart",
        b"SparkListenerApplicationEnd",
        b"SparkListenerEnvironmentUpdate",
    )
)
_DESCRIBED = re.compile(rb"\\nrunId = (" + UUID + rb")\\nbatch = (\d{1,18})")
_DESCRIPTION_BYTES = 1 << 14
"""Of a line: the description comes before the plan."""
_SECRET_NAME = re.compile(r"(?i)secret|passw|token|credential|access[.]?key|private[.]?key")
"""Spark's own `spark.redaction.regex`, and more."""
LONGEST_ERROR = 1 << 15
LONGEST_TEXT = 1 << 12
"""Of a name, a description, a time or a setting; offsets are kept whole."""
_LOOKED_AT = LONGEST_TEXT * 4
"""Secrets are taken out before a text is cut: of half a URL they would not be recognised."""
_LONGEST_ID = 100
_MOST_PARTS = 1_000
"""Sources, operators or durations of a batch; a line with more is not read."""
_MOST_DESCRIBED = 1 << 16
"""Characters of all descriptions of a batch's sources, or of its operators."""
_MOST_SETTINGS = 2_000
_MOST_SETTING_CHARACTERS = 1 << 18


def parse_event(line: bytes, query_id: bytes | None = None) -> Event | None:
    """Return what a line tells of a streaming query or its application; None for anything else.

    Args:
        line: Without its end.
        query_id: Only what concerns this query is parsed; of the others, only that they started.
    """
    if not line.startswith(_BEGIN):
        return None
    try:
        if line.startswith(_STREAMING):
            is_wanted = query_id is None or query_id in line or line.startswith(_STARTED)
            return _parse_streaming(line) if is_wanted else None
        if line.startswith(_SQL_START):
            is_wanted = query_id is None or line.find(query_id, 0, _DESCRIPTION_BYTES) >= 0
            return _parse_execution(line) if is_wanted else None
        if line.startswith(_DESCRIPTION):
            return _parse_description(line)
        return _parse_application(line) if line.startswith(_APPLICATION) else None
    except (
        msgspec.DecodeError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ):
        return UnreadEvent(shown(line[:200].decode("utf-8", "replace")))


def is_event_log(text: bytes) -> bool:
    """Return whether a text begins as every event log does."""
    return text.startswith(_BEGIN)


def shown(text: str) -> str:
    """Return a text on one line, without secrets and without what a terminal would obey."""
    return printable(redact(text))


def _parse_streaming(line: bytes) -> Event | None:
    event: dict[str, Any] = msgspec.json.decode(line)
    kind = event["Event"].rpartition("$")[2]
    if kind == "QueryProgressEvent":
        return _parse_progress(event["progress"])
    ids = _ids(event)
    if kind == "QueryStartedEvent":
        return QueryStarted(**ids, name=_text(event.get("name")), at=_cut(event["timestamp"]))
    if kind == "QueryTerminatedEvent":
        error = event.get("exception")
        return QueryEnded(
            **ids,
            error=None if error is None else redact(str(error)[:LONGEST_ERROR]),
            error_class=_text(event.get("errorClassOnException")),
        )
    return QueryIdle(**ids) if kind == "QueryIdleEvent" else None


def _parse_progress(progress: Any) -> Event:
    if isinstance(progress, str):
        progress = msgspec.json.decode(progress)
    ids = _ids(progress)
    measured = _bounded(progress["durationMs"]).items()
    durations = {str(key)[:_LONGEST_ID]: int(value) for key, value in measured}
    if "addBatch" not in durations:
        return QueryIdle(**ids)
    sources = _bounded(progress["sources"])
    states = _bounded(progress.get("stateOperators") or ())
    gave = tuple(_parse_source(each, _share(sources)) for each in sources)
    sink = progress["sink"]
    return BatchProgress(
        **ids,
        name=_text(progress.get("name")),
        batch_id=int(progress["batchId"]),
        at=_cut(progress["timestamp"]),
        durations_ms=durations,
        sources=gave,
        states=tuple(_parse_state(each, _share(states)) for each in states),
        sink=_cut(sink["description"]),
        rows=sum(each.rows or 0 for each in gave),
        sink_rows=_count(sink.get("numOutputRows")),
        watermark=_text((progress.get("eventTime") or {}).get("watermark")),
    )


def _bounded(parts: Any) -> Any:
    """Return the durations, sources or operators of a batch.

    Raises:
        ValueError: They are more than any query has. A part of them would be a wrong answer: the
            offsets of a batch are compared by the place of their source.
    """
    if len(parts) > _MOST_PARTS:
        raise ValueError(f"a batch has {len(parts)} parts of one kind")
    return parts


def _share(parts: Sized) -> int:
    """Return how long each of some descriptions may be."""
    return min(LONGEST_TEXT, _MOST_DESCRIBED // max(1, len(parts)))


def _parse_source(source: Mapping[str, Any], longest: int) -> SourceProgress:
    return SourceProgress(
        description=_cut(source["description"], longest),
        start=_offset(source["startOffset"]),
        end=_offset(source["endOffset"]),
        latest=_offset(source.get("latestOffset")),
        rows=_count(source.get("numInputRows")),
    )


def _parse_state(state: Mapping[str, Any], longest: int) -> StateProgress:
    metrics = state.get("customMetrics") or {}
    return StateProgress(
        operator=_cut(state["operatorName"], longest),
        rows=_count(state.get("numRowsTotal")),
        memory_bytes=_count(state.get("memoryUsedBytes")),
        is_rocksdb=any(str(each).startswith("rocksdb") for each in metrics),
    )


def _parse_description(line: bytes) -> QueryDescribed:
    event: dict[str, Any] = msgspec.json.decode(line)
    return QueryDescribed(
        **_ids(event),
        checkpoint=_cut(event["checkpoint"]),
        output_mode=_cut(event["outputMode"]),
    )


def _parse_execution(line: bytes) -> BatchBegun | None:
    found = _DESCRIBED.search(line, 0, _DESCRIPTION_BYTES)
    if found is None:
        return None
    checkpoint, mode = parse_plan(line, found[1])
    return BatchBegun(
        run_id=found[1].decode(),
        batch_id=int(found[2]),
        checkpoint=_text(checkpoint),
        output_mode=mode,
    )


def parse_first_batch(line: bytes) -> tuple[Mapping[str, str], PlanParts | None]:
    """Return what the session sets, other than Spark's defaults, and what the plan says of state.

    They are empty, and None, where the line does not say it.
    """
    try:
        event = msgspec.json.decode(line)
        plan = event.get("physicalPlanDescription")
        parts = parse_parts(plan) if isinstance(plan, str) else None
        return _settings(event.get("modifiedConfigs")), parts
    except (msgspec.DecodeError, AttributeError, TypeError, ValueError, RecursionError):
        return {}, None


def _parse_application(line: bytes) -> ApplicationFacts:
    event: dict[str, Any] = msgspec.json.decode(line)
    return ApplicationFacts(
        spark=_text(event.get("Spark Version")),
        application_id=_text(event.get("App ID")),
        has_ended=event["Event"] == "SparkListenerApplicationEnd",
        settings=_settings(event.get("Spark Properties")),
    )


def _settings(found: Any) -> Mapping[str, str]:
    """Return settings without secrets; Spark writes them as an object or as a list of pairs."""
    pairs = found.items() if isinstance(found, dict) else found or ()
    settings: dict[str, str] = {}
    left = _MOST_SETTING_CHARACTERS
    for name, value in list(pairs)[:_MOST_SETTINGS]:
        called = str(name)[:LONGEST_TEXT]
        hidden = hide_setting(called, str(value)[:_LOOKED_AT])[:LONGEST_TEXT]
        left -= len(called) + len(hidden)
        if left < 0:
            break
        settings[_cut(called)] = hidden
    return settings


def hide_setting(name: str, value: str) -> str:
    """Return the value of a setting, or what stands for one that may be a secret."""
    if _SECRET_NAME.search(name):
        return HIDDEN
    text = shown(f"{name}={value}")
    return text[len(name) + 1 :] if text.startswith(f"{name}=") else HIDDEN


def _offset(found: Any) -> str | None:
    """Return an offset as text: Spark writes it as a string, other writers as JSON itself."""
    if found is None:
        return None
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()


def _count(found: Any) -> int | None:
    """Return a count; None for what is not known, which Spark writes as -1."""
    return found if isinstance(found, int) and found >= 0 else None


def _ids(event: Mapping[str, Any]) -> dict[str, str]:
    return {
        "query_id": str(event["id"])[:_LONGEST_ID],
        "run_id": str(event["runId"])[:_LONGEST_ID],
    }


def _text(found: Any) -> str | None:
    return None if found is None else _cut(found)


def _cut(found: Any, longest: int = LONGEST_TEXT) -> str:
    return shown(str(found)[:_LOOKED_AT])[:longest]
