"""`holdfast facts --format json`: the same facts for programs, with every partition and start.

The schema is committed as docs/reference/facts.schema.json.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.cli.event_log_form import EventLogJson
from holdfast.cli.event_log_json import event_log_json
from holdfast.evidence.case import Case
from holdfast.evidence.progress import SourceRange, find_progress
from holdfast.evidence.wording import position, source_kind
from holdfast.judgement.fact import Fact
from holdfast.judgement.restart_facts import ends_of
from holdfast.record.run_history import RunEnd, UnreadRun
from holdfast.record.runs import Run
from holdfast.report.envelope import Answer, fill, render


class PositionJson(msgspec.Struct):
    """How far one source is read, or one partition of it: `offset` is the next to be read."""

    source: str
    kind: str
    position: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


class StartJson(msgspec.Struct):
    """One start of a guarded stream.

    `ended` is `finished`, `stopped`, `failed`, `lost`, `not-recorded`, `running` or `unknown`.
    """

    epoch: int
    run_id: str
    ended: str
    where: str
    generation: int | None = None
    spark: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    error: str | None = None
    first_batch: int | None = None
    last_batch: int | None = None
    not_known: str | None = None


class FactsJson(Answer, kw_only=True, tag_field="format", tag="holdfast.facts"):
    """What `holdfast facts` found."""

    version: int = 2
    location: str
    facts: tuple[Fact, ...]
    offsets: tuple[PositionJson, ...] = ()
    starts: tuple[StartJson, ...] | None = None
    """Newest first; null for a bare checkpoint, and where the record cannot be read."""
    older_starts: int = 0
    """Starts before those, which were not read."""
    not_read: tuple[str, ...] = ()
    """What was asked for and could not be read."""
    event_log: EventLogJson | None = None
    """Null when none was named."""


def render_facts_json(case: Case, facts: tuple[Fact, ...]) -> str:
    """Return the text to print."""
    history, sources = case.history, find_progress(case.checkpoint).sources
    starts = None
    if history is not None and history.unlisted is None:
        ends = dict(ends_of(history, case.record))
        starts = tuple(_start(each, ends[each.run_id]) for each in history.runs)
    return render(
        FactsJson(
            location=str(case.checkpoint.location),
            facts=facts,
            offsets=tuple(each for source in sources for each in _positions(source)),
            starts=starts,
            older_starts=0 if history is None else history.older,
            not_read=tuple(_not_read(case)),
            event_log=event_log_json(case.event_log, case.newest_committed),
        )
    )


def _not_read(case: Case) -> Iterator[str]:
    yield from case.not_looked_at
    if case.history is not None and case.history.unlisted is not None:
        yield f"the runs of the stream: {case.history.unlisted}"


def _positions(found: SourceRange) -> Iterator[PositionJson]:
    """Yield how far a source is read: each partition, where it has several."""
    kind = source_kind(found.end)
    parts = found.end.parts() if found.end else []
    if not parts:
        shown = position(found.end, found.source)
        yield PositionJson(source=found.source, kind=kind, position=shown)
        return
    for (topic, partition), offset in parts:
        yield PositionJson(
            source=found.source,
            kind=kind,
            position=f"offset {offset}",
            topic=topic,
            partition=partition,
            offset=offset,
        )


def _start(run: Run | UnreadRun, end: RunEnd) -> StartJson:
    not_known = run.why if isinstance(run, UnreadRun) else None
    ended_at, error = getattr(run, "ended_at", None) or None, getattr(run, "error", None) or None
    more = {"ended_at": ended_at, "error": error, "not_known": not_known}
    return fill(StartJson, run, ended=end, where=run.path, **more)
