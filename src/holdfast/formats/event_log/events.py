"""What the event log of an application tells of streaming queries, as values."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.formats.event_log.plans import PlanParts


class QueryStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A query was started."""

    query_id: str
    run_id: str
    name: str | None
    at: str
    """As Spark writes it, in UTC."""


class QueryEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A run has ended: by itself, by `stop()`, or with an exception."""

    query_id: str
    run_id: str
    error: str | None
    """The exception with its stack trace; None without one."""
    error_class: str | None = None


class QueryIdle(msgspec.Struct, frozen=True, kw_only=True):
    """A trigger that ran no batch."""

    query_id: str
    run_id: str


class SourceProgress(msgspec.Struct, frozen=True, kw_only=True):
    """What one source gave to a batch; offsets as the source writes them into the checkpoint."""

    description: str
    start: str | None
    end: str | None
    latest: str | None = None
    rows: int | None = None


class StateProgress(msgspec.Struct, frozen=True, kw_only=True):
    """One stateful operator after a batch."""

    operator: str
    rows: int | None = None
    memory_bytes: int | None = None
    is_rocksdb: bool = False


class BatchProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that was committed."""

    query_id: str
    run_id: str
    name: str | None
    batch_id: int
    at: str
    durations_ms: Mapping[str, int]
    sources: tuple[SourceProgress, ...]
    states: tuple[StateProgress, ...]
    sink: str
    rows: int
    sink_rows: int | None = None
    """None where the sink does not count."""
    watermark: str | None = None


class BatchBegun(msgspec.Struct, frozen=True, kw_only=True):
    """Spark began to run a batch: of the last one before a kill, nothing else is in the log."""

    run_id: str
    batch_id: int
    checkpoint: str | None = None
    """Only the plans of stateful queries name it."""
    output_mode: str | None = None
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    plan: PlanParts | None = None
    """What its plan says of state; None if that was not read."""


class QueryDescribed(msgspec.Struct, frozen=True, kw_only=True):
    """What `hf.record_queries` adds of a run, and Spark's own log does not have."""

    query_id: str
    run_id: str
    checkpoint: str
    output_mode: str


class ApplicationFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What an application says of itself; an event has one of these, the others are empty."""

    spark: str | None = None
    application_id: str | None = None
    has_ended: bool = False
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)


class UnreadEvent(msgspec.Struct, frozen=True):
    """A line that is of such a class, and not of its form."""

    line: str


Event = (QueryStarted | QueryEnded | QueryIdle | BatchProgress | BatchBegun | ApplicationFacts) | (
    QueryDescribed | UnreadEvent
)
