"""Folds events into a history, in constant memory: the newest are kept, the others are counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from holdfast.formats.event_log.events import (
    ApplicationFacts,
    BatchBegun,
    BatchProgress,
    Event,
    QueryDescribed,
    QueryEnded,
    QueryIdle,
    QueryStarted,
    UnreadEvent,
)
from holdfast.formats.event_log.history import (
    MOST_BATCH_CHARACTERS,
    MOST_BATCHES,
    MOST_OTHERS,
    MOST_RANGES,
    MOST_RUNS,
    OtherQuery,
    QueryRun,
    RunEnding,
)

_WHOLE_ERRORS = 16
"""Exceptions that are kept with their stack trace: those of the newest runs."""
_PART = 100
"""What a text takes beside its characters."""
_USUAL = 1 << 14
"""Characters of a batch beside its offsets that are not counted."""


class BatchRanges:
    """Which batches were seen, as ranges."""

    def __init__(self) -> None:
        """Have seen none."""
        self._ranges: list[list[int]] = []

    def add(self, batch: int) -> None:
        """Note a batch; they come in order, but for those that ran again."""
        last = self._ranges[-1] if self._ranges else None
        if last is not None and last[0] <= batch <= last[1] + 1:
            last[1] = max(last[1], batch)
            return
        self._ranges.append([batch, batch])
        if len(self._ranges) > MOST_RANGES:
            self._ranges = [list(each) for each in self._merged()][-MOST_RANGES:]

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield what is missing between batch 0 and the last one."""
        merged = [(-1, -1), *self._merged()]
        for (_, before), (after, _) in pairwise(merged):
            if after > before + 1:
                yield before + 1, after - 1

    def _merged(self) -> list[tuple[int, int]]:
        merged: list[tuple[int, int]] = []
        for first, last in sorted(map(tuple, self._ranges)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = merged[-1][0], max(last, merged[-1][1])
            else:
                merged.append((first, last))
        return merged


class _Application(msgspec.Struct):
    name: str
    facts: ApplicationFacts = msgspec.field(default_factory=ApplicationFacts)
    has_query: bool = False


class HistoryBuilder:
    """Takes the events of one application after the other."""

    def __init__(self, query_id: str) -> None:
        """Know nothing yet."""
        self._query_id = query_id
        self._application = _Application("")
        self._runs: dict[str, QueryRun] = {}
        self._batches: deque[BatchProgress] = deque()
        self._batch_characters = 0
        self._others: dict[str, OtherQuery] = {}
        self._ranges = BatchRanges()
        self.older_runs = 0
        self.older_batches = 0
        self.unread_lines = 0
        self.without_end: list[str] = []

    def begin(self, application: str) -> None:
        """Take events of another application from here on."""
        self.finish()
        self._application = _Application(application)

    def finish(self) -> None:
        """Note what the last application did not say."""
        last = self._application
        if last.has_query and not last.facts.has_ended:
            self.without_end.append(last.name)

    def needs_settings(self, event: Event | None) -> bool:
        """Return whether the settings of a session are still to be read, from this event."""
        run = self._runs.get(event.run_id) if isinstance(event, BatchBegun) else None
        return run is not None and run.begun_batch is None

    def take(self, event: Event) -> None:
        """Take one event."""
        match event:
            case ApplicationFacts():
                self._take_facts(event)
            case QueryStarted():
                self._take_start(event)
            case BatchProgress():
                self._take_batch(event)
            case BatchBegun() | QueryDescribed():
                self._take_plan(event)
            case QueryEnded():
                self._take_end(event)
            case QueryIdle():
                run = self._run(event.run_id)
                self._runs[event.run_id] = replace(run, idle_triggers=run.idle_triggers + 1)
            case UnreadEvent():
                self.unread_lines += 1

    def _take_facts(self, new: ApplicationFacts) -> None:
        known = self._application.facts
        self._application.facts = ApplicationFacts(
            spark=new.spark or known.spark,
            application_id=new.application_id or known.application_id,
            has_ended=new.has_ended or known.has_ended,
            settings=new.settings or known.settings,
        )

    def _run(self, run_id: str, name: str | None = None) -> QueryRun:
        """Return a run, as far as it is known."""
        found = self._runs.get(run_id)
        if found is not None:
            return found
        application = self._application
        application.has_query = True
        if len(self._runs) >= MOST_RUNS:
            del self._runs[next(iter(self._runs))]
            self.older_runs += 1
        return QueryRun(
            query_id=self._query_id,
            run_id=run_id,
            name=name,
            application=application.name,
            application_id=application.facts.application_id,
            spark=application.facts.spark,
            began_at=None,
            ending=RunEnding.NOT_IN_LOG,
            settings=application.facts.settings,
        )

    def _take_start(self, event: QueryStarted) -> None:
        if event.query_id == self._query_id:
            run = self._run(event.run_id, event.name)
            self._runs[event.run_id] = replace(run, began_at=event.at)
            return
        known = self._others.pop(event.query_id, None)
        self._others[event.query_id] = OtherQuery(
            query_id=event.query_id,
            name=event.name,
            began_at=event.at,
            application=self._application.name,
            starts=1 if known is None else known.starts + 1,
        )
        if len(self._others) > MOST_OTHERS:
            del self._others[next(iter(self._others))]

    def _take_plan(self, event: BatchBegun | QueryDescribed) -> None:
        if isinstance(event, QueryDescribed):
            if event.query_id == self._query_id:
                self._runs[event.run_id] = replace(
                    self._run(event.run_id),
                    checkpoint=event.checkpoint,
                    output_mode=event.output_mode,
                )
            return
        run = self._run(event.run_id)
        self._runs[event.run_id] = replace(
            run,
            begun_batch=max(event.batch_id, run.begun_batch or 0),
            checkpoint=event.checkpoint or run.checkpoint,
            output_mode=event.output_mode or run.output_mode,
            settings={**run.settings, **event.settings} if event.settings else run.settings,
            has_session_settings=run.has_session_settings or bool(event.settings),
            plan=run.plan or event.plan,
        )

    def _take_batch(self, event: BatchProgress) -> None:
        run = self._run(event.run_id, event.name)
        first = event.batch_id if run.first_batch is None else run.first_batch
        self._runs[event.run_id] = replace(
            run,
            first_batch=min(first, event.batch_id),
            last_batch=max(event.batch_id, run.last_batch or 0),
            begun_batch=max(event.batch_id, run.begun_batch or 0),
            batches=run.batches + 1,
            rows=run.rows + event.rows,
            last_at=event.at,
            sink=event.sink,
            sources=tuple(each.description for each in event.sources),
            operators=tuple(each.operator for each in event.states),
            uses_rocksdb=run.uses_rocksdb or any(each.is_rocksdb for each in event.states),
        )
        self._ranges.add(event.batch_id)
        self._keep(event)

    def _keep(self, event: BatchProgress) -> None:
        self._batches.append(event)
        self._batch_characters += _characters(event)
        while len(self._batches) > 1 and (
            len(self._batches) > MOST_BATCHES or self._batch_characters > MOST_BATCH_CHARACTERS
        ):
            self._batch_characters -= _characters(self._batches.popleft())
            self.older_batches += 1

    def _take_end(self, event: QueryEnded) -> None:
        self._runs[event.run_id] = replace(
            self._run(event.run_id),
            ending=RunEnding.ENDED if event.error is None else RunEnding.FAILED,
            error=event.error,
            error_class=event.error_class,
        )
        failed = [each for each in self._runs.values() if each.error and "\n" in each.error]
        if len(failed) > _WHOLE_ERRORS:
            first = failed[0]
            self._runs[first.run_id] = replace(first, error=first.error_line)

    @property
    def runs(self) -> tuple[QueryRun, ...]:
        """The runs, oldest first."""
        return tuple(sorted(self._runs.values(), key=lambda each: each.began_at or ""))

    @property
    def batches(self) -> tuple[BatchProgress, ...]:
        """The newest batches, oldest first."""
        return tuple(sorted(self._batches, key=lambda each: each.at))

    @property
    def missing_batches(self) -> tuple[tuple[int, int], ...]:
        """What is missing before the newest batch."""
        return tuple(self._ranges.missing())

    @property
    def others(self) -> tuple[OtherQuery, ...]:
        """Other queries, in the order of their newest start."""
        return tuple(self._others.values())


def _characters(event: BatchProgress) -> int:
    """Return how much a batch counts: its offsets, and other texts that are more than usual."""
    offsets = [text for each in event.sources for text in (each.start, each.end, each.latest)]
    others = [event.sink, event.name, event.at, event.watermark, *event.durations_ms]
    others += [each.operator for each in event.states]
    others += [each.description for each in event.sources]
    other = sum(_PART + len(text or "") for text in others)
    return sum(len(text or "") for text in offsets) + max(0, other - _USUAL)


def newest_settings(runs: Iterable[QueryRun]) -> Mapping[str, str]:
    """Return the settings of the newest run that has any."""
    return next((each.settings for each in reversed(tuple(runs)) if each.settings), {})
