"""Reads the history of one query from the event logs at a location."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.formats.event_log.events import (
    BatchBegun,
    BatchProgress,
    Event,
    QueryDescribed,
    QueryStarted,
)
from holdfast.formats.event_log.files import (
    MOST_FILES,
    ApplicationLog,
    FoundLogs,
    find_logs,
    single_file,
)
from holdfast.formats.event_log.gathering import HistoryBuilder
from holdfast.formats.event_log.history import EventLogHistory, UnreadFile
from holdfast.formats.event_log.lines import Lines
from holdfast.formats.event_log.parsing import is_event_log, parse_event, parse_first_batch
from holdfast.formats.event_log.unpacking import Unpacking
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import FileInfo, Reader

_NO_QUERY = b"\n"
"""In place of a query id that is not known: no line has it in it."""


def read_event_log(
    location: str,
    *,
    query_id: str | None,
    checkpoint: Location | None = None,
    options: Mapping[str, str] | None = None,
) -> EventLogHistory:
    """Read what the event logs at a location tell of one query.

    Args:
        location: `spark.eventLog.dir`, one application in it, or one file.
        query_id: Of the checkpoint's `metadata`; None if it cannot be read.
        checkpoint: Where it is: without a query id, a stateful query is found by it.
        options: Of the store.

    Raises:
        LocationError: The location is not one that Holdfast can read.
        ReadError: The store did not let us list it.
    """
    reader, found = open_logs(location, options)
    if query_id is None and checkpoint is not None:
        query_id = _find_query(reader, found, checkpoint)
    reading = _Reading(reader=reader, query_id=query_id)
    for log in found.logs:
        reading.read(log)
    return reading.history(found, location)


def read_batches(
    location: str, *, query_id: str, options: Mapping[str, str] | None = None
) -> Iterator[BatchProgress]:
    """Yield every batch of a query that the event logs at a location have, in constant memory.

    Args:
        location: As for `read_event_log`.
        query_id: Of the query.
        options: Of the store.

    Raises:
        LocationError: The location is not one that Holdfast can read.
        ReadError: The store did not let us list it.
    """
    reader, found = open_logs(location, options)
    for log in found.logs:
        for info in log.files:
            for line in Lines(Unpacking(reader, info.path)):
                event = parse_event(line, query_id.encode())
                if isinstance(event, BatchProgress) and event.query_id == query_id:
                    yield event


def open_logs(location: str, options: Mapping[str, str] | None) -> tuple[Reader, FoundLogs]:
    """Return a reader, and the logs in it; of a file, what is in its directory is not looked at.

    Raises:
        LocationError: The location is not one that Holdfast can read.
        ReadError: The store did not let us list it.
    """
    place = parse_location(location)
    reader = open_reader(place, options)
    found = find_logs(reader)
    if found.logs or place.parent is None:
        return reader, found
    above = open_reader(place.parent, options)
    info = above.stat(place.name)
    if info is None:
        return reader, found
    return above, FoundLogs(logs=(single_file(info),))


def _find_query(reader: Reader, found: FoundLogs, checkpoint: Location) -> str | None:
    """Return the query whose plan names a checkpoint; the newest, if there were several."""
    queries: dict[str, str] = {}
    chosen = None
    for log in found.logs:
        for info in log.files:
            for line in Lines(Unpacking(reader, info.path)):
                event = parse_event(line)
                if isinstance(event, QueryStarted):
                    queries[event.run_id] = event.query_id
                elif isinstance(event, BatchBegun | QueryDescribed) and is_same_checkpoint(
                    event, checkpoint
                ):
                    chosen = queries.get(event.run_id, chosen)
    return chosen


def is_same_checkpoint(event: BatchBegun | QueryDescribed, checkpoint: Location) -> bool:
    """Return whether a plan, or a description, names this checkpoint."""
    if event.checkpoint is None:
        return False
    try:
        return parse_location(event.checkpoint) == checkpoint
    except HoldfastError:
        return False


@dataclass(slots=True)
class _Reading:
    """A history being read."""

    reader: Reader
    query_id: str | None
    builder: HistoryBuilder = field(init=False)
    applications: int = 0
    not_logs: int = 0
    text_bytes: int = 0
    too_long: int = 0
    compacted: list[str] = field(default_factory=list)
    unread: list[UnreadFile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.builder = HistoryBuilder(self.query_id or "")

    def read(self, log: ApplicationLog) -> None:
        """Read one application."""
        self.builder.begin(log.name)
        before = self.not_logs
        for info in log.files:
            self._read_file(info, is_certain=log.is_certain)
        if log.files and self.not_logs - before == len(log.files):
            return
        self.applications += 1
        if log.compacted_to is not None:
            self.compacted.append(log.name)
        for number in log.missing:
            path = f"{log.name}/events_{number}_…"
            self.unread.append(UnreadFile(path=path, why="the file is not there"))
        if not log.files:
            why = "it has no events yet: on an object store a file appears when it is closed"
            self.unread.append(UnreadFile(path=log.name, why=why))

    def _read_file(self, info: FileInfo, *, is_certain: bool) -> None:
        unpacking = Unpacking(self.reader, info.path)
        lines = Lines(unpacking)
        query = (self.query_id or "").encode() or _NO_QUERY
        number = -1
        for number, line in enumerate(lines):
            if number == 0 and not is_event_log(line):
                self._pass_over(info, is_certain=is_certain)
                return
            event = parse_event(line, query)
            if event is not None:
                self._take(event, line)
        self.text_bytes += lines.text_bytes
        self.too_long += lines.too_long
        why = unpacking.stopped_by
        if why is None and number < 0 and not is_event_log(lines.rest):
            self._pass_over(info, is_certain=is_certain)
            return
        if why is None and lines.rest:
            why = "it ends in the middle of a line"
        if why is not None:
            self.unread.append(UnreadFile(path=info.path, why=why))

    def _pass_over(self, info: FileInfo, *, is_certain: bool) -> None:
        """Note a file that does not begin as an event log."""
        if not is_certain:
            self.not_logs += 1
            return
        why = "it does not begin as an event log" if info.size_bytes else "it is empty"
        self.unread.append(UnreadFile(path=info.path, why=why))

    def _take(self, event: Event, line: bytes) -> None:
        if isinstance(event, BatchBegun) and self.builder.needs_settings(event):
            settings, plan = parse_first_batch(line)
            event = replace(event, settings=settings, plan=plan)
        self.builder.take(event)

    def history(self, found: FoundLogs, location: str) -> EventLogHistory:
        """Return what was read.

        Args:
            found: The logs.
            location: As it was asked for: a file, or a directory.
        """
        built = self.builder
        built.finish()
        if found.has_more:
            why = f"only the first {MOST_FILES:,} files below the location were looked at"
            self.unread.append(UnreadFile(path=str(self.reader.location), why=why))
        return EventLogHistory(
            location=str(parse_location(location)),
            query_id=self.query_id,
            runs=built.runs,
            older_runs=built.older_runs,
            batches=built.batches,
            older_batches=built.older_batches,
            missing_batches=built.missing_batches,
            others=built.others,
            applications=self.applications,
            without_end=tuple(built.without_end),
            compacted=tuple(self.compacted),
            unread=tuple(self.unread),
            unread_lines=built.unread_lines + self.too_long,
            not_logs=self.not_logs,
            text_bytes=self.text_bytes,
        )
