"""Every query that the event logs at a location tell of: to find one whose checkpoint is gone."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from holdfast.formats.event_log.events import BatchProgress, Event, QueryDescribed, QueryStarted
from holdfast.formats.event_log.lines import Lines
from holdfast.formats.event_log.parsing import parse_event
from holdfast.formats.event_log.read import open_logs
from holdfast.formats.event_log.unpacking import Unpacking

MOST_QUERIES = 1_000
"""That are kept: those whose newest event is the newest."""


class LoggedQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One query, as far as the logs name it."""

    query_id: str
    name: str | None = None
    began_at: str | None = None
    """Its newest start."""
    last_at: str | None = None
    """When its newest batch in the log began."""
    last_batch: int | None = None
    sink: str | None = None
    """As its newest batch names it; None without a batch."""
    sources: tuple[str, ...] = ()
    checkpoint: str | None = None
    """Only `hf.record_queries` writes it down for a query without state."""


def read_queries(
    location: str, *, options: Mapping[str, str] | None = None
) -> tuple[LoggedQuery, ...]:
    """Return every query that the event logs at a location tell of; the newest come last.

    Args:
        location: `spark.eventLog.dir`, one application in it, or one file.
        options: Of the store.

    Raises:
        LocationError: The location is not one that Holdfast can read.
        ReadError: The store did not let us list it.
    """
    reader, found = open_logs(location, options)
    queries: dict[str, LoggedQuery] = {}
    for log in found.logs:
        for info in log.files:
            for line in Lines(Unpacking(reader, info.path)):
                event = parse_event(line)
                if event is not None:
                    _take(queries, event)
    return tuple(queries.values())


def _take(queries: dict[str, LoggedQuery], event: Event) -> None:
    if not isinstance(event, QueryStarted | QueryDescribed | BatchProgress):
        return
    known = queries.pop(event.query_id, None) or LoggedQuery(query_id=event.query_id)
    match event:
        case QueryStarted():
            known = replace(known, name=event.name or known.name, began_at=event.at)
        case QueryDescribed():
            known = replace(known, checkpoint=event.checkpoint)
        case BatchProgress():
            known = replace(
                known,
                name=event.name or known.name,
                last_at=event.at,
                last_batch=event.batch_id,
                sink=event.sink,
                sources=tuple(each.description for each in event.sources),
            )
    queries[event.query_id] = known
    if len(queries) > MOST_QUERIES:
        del queries[next(iter(queries))]
