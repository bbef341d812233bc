"""Which query a lost checkpoint belonged to, by what is left and by what the event log names.

The event log does not name the checkpoint of a query without state. It names the sink. So the query
is the one that wrote into the sink that was given; if there are several, the operator says which.
A checkpoint is never given to a query that writes elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.errors import HoldfastError
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.output import Output
from holdfast.formats.event_log.history import EventLogHistory, NotReadLog
from holdfast.formats.event_log.queries import LoggedQuery, read_queries
from holdfast.formats.event_log.read import read_event_log
from holdfast.plan.goals.plain_sink import Queries
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import StreamNow
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, parse_location

_SINK = re.compile(r"(DeltaSink|FileSink)\[(?P<place>.+)\]")
_MOST_NAMED = 5


def find_history(now: StreamNow, asked: str, queries: Queries) -> EventLogHistory | NoPlan:
    """Return the history of the query that a checkpoint belonged to, or why it is not known.

    Args:
        now: The stream, as it is now.
        asked: The id or the name of the query; empty if none was given.
        queries: Every query of the event log.

    Raises:
        HoldfastError: The event log cannot be read.
    """
    log = now.case.event_log
    if not isinstance(log, EventLogHistory):
        why = log.why if isinstance(log, NotReadLog) else "none was named"
        return NoPlan(reason=f"The event log cannot be read: {why}.")
    chosen = _choose(now, log, asked, queries=queries)
    if isinstance(chosen, NoPlan):
        return chosen
    for other in now.case.neighbours:
        if other.query_id == chosen:
            return NoPlan(
                reason=f"The checkpoint of query {chosen} is at {other.location}: it is not gone."
            )
    if log.query_id == chosen:
        return log
    return read_event_log(log.location, query_id=chosen, options=now.options)


def queries_of(now: StreamNow) -> Queries:
    """Return what reads every query of the event log, once."""
    log = now.case.event_log

    @cache
    def read() -> tuple[LoggedQuery, ...]:
        if not isinstance(log, EventLogHistory):
            return ()
        return read_queries(log.location, options=now.options)

    return read


def _choose(now: StreamNow, log: EventLogHistory, asked: str, *, queries: Queries) -> str | NoPlan:
    """Return the id of the query."""
    if asked:
        return _choose_asked(now, log, asked, queries=queries)
    if log.query_id is not None:
        return log.query_id  # of what is left of `metadata`, or a plan names the checkpoint
    fitting = [each for each in queries() if _fits(each, now)]
    if len(fitting) == 1:
        return fitting[0].query_id
    if not now.case.outputs:
        return NoPlan(
            reason=f"The query id of {now.stream} is gone with its checkpoint. Name what it wrote "
            "with --sink: the event log then tells which query that was."
        )
    shown = ", ".join(each.display_name for each in now.case.outputs)
    if not fitting:
        return NoPlan(
            reason=f"No query in the event log at {log.location} writes to {shown}. It has "
            f"{_name_all(queries())}."
        )
    return NoPlan(
        reason=f"{len(fitting)} queries in the event log write to {shown}: {_name_all(fitting)}. "
        "Say which one it was with --query-id."
    )


def _choose_asked(
    now: StreamNow, log: EventLogHistory, asked: str, *, queries: Queries
) -> str | NoPlan:
    """Return the query that was named, if it can have had this checkpoint."""
    named = [each for each in queries() if asked in (each.query_id, each.name)]
    if len(named) > 1:
        return NoPlan(
            reason=f"{len(named)} queries in the event log are called {asked}: "
            f"{_name_all(named)}. Name one by its id."
        )
    if not named:
        return NoPlan(
            reason=f"There is no query {asked} in the event log at {log.location}. It has "
            f"{_name_all(queries())}."
        )
    (found,) = named
    left = now.case.checkpoint.metadata
    if isinstance(left, QueryMetadata) and left.query_id != found.query_id:
        return NoPlan(
            reason=f"What is left of the checkpoint is of query {left.query_id}, not of "
            f"{found.query_id}."
        )
    place = _location(found.checkpoint)
    if place is not None and not is_same_place(place, now.checkpoint.location):
        return NoPlan(reason=f"The checkpoint of query {found.query_id} is at {place}.")
    return found.query_id


def _fits(query: LoggedQuery, now: StreamNow) -> bool:
    """Return whether a query wrote into a sink that was given, and into no other checkpoint."""
    place = _location(query.checkpoint)
    if place is not None and not is_same_place(place, now.checkpoint.location):
        return False
    return any(is_sink_of(query.sink, each) for each in now.case.outputs)


def is_sink_of(described: str | None, output: Output) -> bool:
    """Return whether the event log names this output as the sink of a query."""
    matched = _SINK.fullmatch(described or "")
    if matched is None or not isinstance(output, DeltaOutput | FileOutput):
        return False
    if matched[1] != ("DeltaSink" if isinstance(output, DeltaOutput) else "FileSink"):
        return False
    one, other = _location(matched["place"]), _location(output.location)
    return one is not None and other is not None and is_same_place(one, other)


def _location(text: str | None) -> Location | None:
    try:
        return None if not text else parse_location(text)
    except HoldfastError:
        return None


def _name_all(queries: Iterable[LoggedQuery]) -> str:
    """Return the queries that a person can choose from."""
    known = sorted(queries, key=lambda each: each.last_at or each.began_at or "", reverse=True)
    shown = "; ".join(_name(each) for each in known[:_MOST_NAMED])
    more = f"; and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"{shown}{more}" or "none"


def _name(query: LoggedQuery) -> str:
    name = f" ({query.name})" if query.name else ""
    to = f", writes to {query.sink}" if query.sink else ""
    last = "no batch" if query.last_batch is None else f"batch {query.last_batch}"
    return f"{query.query_id}{name}, {last} at {query.last_at or query.began_at}{to}"
