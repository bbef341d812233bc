"""The form of an event log in the JSON of `holdfast facts` and `holdfast inspect`."""

from __future__ import annotations

import msgspec


class EventRunJson(msgspec.Struct):
    """One start of a query, as Spark's event log has it.

    `ending` is `ended` (without an exception), `failed` or `not-in-log`: killed, still running, or
    cut off with the log. Spark logs no time of an end. `begunBatch` is later than `lastBatch` if
    the last batch has no progress in the log.
    """

    run_id: str
    query_id: str
    name: str | None
    application: str
    spark: str | None
    began_at: str | None
    ending: str
    error: str | None
    first_batch: int | None
    last_batch: int | None
    begun_batch: int | None
    batches: int
    rows: int
    sink: str | None
    checkpoint: str | None
    output_mode: str | None


class EventSourceJson(msgspec.Struct):
    """What one source gave to a batch; offsets as the source writes them."""

    description: str
    start: str | None
    end: str | None
    rows: int | None


class EventStateJson(msgspec.Struct):
    """One stateful operator after a batch."""

    operator: str
    rows: int | None
    memory_bytes: int | None


class EventBatchJson(msgspec.Struct):
    """One committed batch."""

    batch: int
    run_id: str
    began_at: str
    durations_ms: dict[str, int]
    rows: int
    sources: tuple[EventSourceJson, ...]
    state: tuple[EventStateJson, ...]


class EventQueryJson(msgspec.Struct):
    """Another query in the same logs."""

    query_id: str
    name: str | None
    began_at: str
    starts: int


class EventLogJson(msgspec.Struct):
    """What Spark's event log tells; runs and batches are oldest first."""

    location: str
    applications: int
    incomplete: tuple[str, ...]
    """What the log does not have; empty when the history is complete."""
    runs: tuple[EventRunJson, ...] = ()
    older_runs: int = 0
    batches: tuple[EventBatchJson, ...] = ()
    older_batches: int = 0
    missing_batches: tuple[tuple[int, int], ...] = ()
    """Ranges, first and last, before the newest batch that the log has."""
    settings: dict[str, str] = {}
    """Of the newest run, without secrets."""
    others: tuple[EventQueryJson, ...] = ()
