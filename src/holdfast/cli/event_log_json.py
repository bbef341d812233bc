"""Spark's event log in the JSON of `holdfast facts` and `holdfast inspect`."""

from __future__ import annotations

from holdfast.cli.event_log_form import (
    EventBatchJson,
    EventLogJson,
    EventQueryJson,
    EventRunJson,
    EventSourceJson,
    EventStateJson,
)
from holdfast.evidence.event_log import say_incomplete
from holdfast.formats.event_log.events import BatchProgress
from holdfast.formats.event_log.history import EventLog, NotReadLog, QueryRun
from holdfast.redact import redact


def event_log_json(found: EventLog | None, newest_committed: int) -> EventLogJson | None:
    """Return what an event log tells; None when none was named.

    Args:
        found: As it was read.
        newest_committed: The newest batch that the checkpoint has committed; -1 without any.
    """
    if found is None:
        return None
    location = redact(found.location)
    if isinstance(found, NotReadLog):
        return EventLogJson(location=location, applications=0, incomplete=(redact(found.why),))
    return EventLogJson(
        location=location,
        applications=found.applications,
        incomplete=tuple(map(redact, say_incomplete(found, newest_committed))),
        runs=tuple(map(_run, found.runs)),
        older_runs=found.older_runs,
        batches=tuple(map(_batch, found.batches)),
        older_batches=found.older_batches,
        missing_batches=found.missing_batches,
        settings={} if found.newest is None else dict(found.newest.settings),
        others=tuple(
            EventQueryJson(
                query_id=each.query_id,
                name=each.name,
                began_at=each.began_at,
                starts=each.starts,
            )
            for each in found.others
        ),
    )


def _run(run: QueryRun) -> EventRunJson:
    return EventRunJson(
        run_id=run.run_id,
        query_id=run.query_id,
        name=run.name,
        application=run.application,
        spark=run.spark,
        began_at=run.began_at,
        ending=run.ending,
        error=run.error_line,
        first_batch=run.first_batch,
        last_batch=run.last_batch,
        begun_batch=run.begun_batch,
        batches=run.batches,
        rows=run.rows,
        sink=run.sink,
        checkpoint=run.checkpoint,
        output_mode=run.output_mode,
    )


def _batch(batch: BatchProgress) -> EventBatchJson:
    return EventBatchJson(
        batch=batch.batch_id,
        run_id=batch.run_id,
        began_at=batch.at,
        durations_ms=dict(batch.durations_ms),
        rows=batch.rows,
        sources=tuple(
            EventSourceJson(
                description=each.description, start=each.start, end=each.end, rows=each.rows
            )
            for each in batch.sources
        ),
        state=tuple(
            EventStateJson(operator=each.operator, rows=each.rows, memory_bytes=each.memory_bytes)
            for each in batch.states
        ),
    )
