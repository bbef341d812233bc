"""Reads the log of Spark's file sink, and the names of the files beside it. Nothing is written.

The newest compact file and what is above it is read, as Spark does, in constant memory. A compact
file beyond `LARGEST_READ` is not read: then only its name and its size are known.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Sequence
from enum import Enum

import msgspec

from holdfast.checkpoint.file_sink import (
    DIRECTORY,
    SinkEntry,
    SinkLog,
    parse_sink_log,
    read_sink_log,
)
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import HoldfastError, LocationError, ReadError
from holdfast.evidence.outputs.files import FileOutput, SinkBatch
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.logged_paths import (
    LoggedPath,
    is_data_name,
    parse_logged_path,
    show_path,
)
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.read import Reader, read_chunks

LARGEST_READ = 64 << 20
MOST_HOLES = 10
MOST_BATCHES = 1_000
"""Entries above the newest compact file that are read; Spark makes 9 by default."""
DEFAULT_INTERVAL = 10
LARGEST_INTERVAL = 1_000_000


class Whereabouts(Enum):
    """Where a logged directory is, when it is not in the output."""

    ELSEWHERE = "elsewhere"
    UNKNOWN = "unknown"


class _Listed(msgspec.Struct, kw_only=True):
    """What the log lists; filled entry by entry."""

    unlisted: dict[tuple[str, str], str]
    """Data files that were found, by directory and name; those in the log are taken out."""
    place: Location
    files: int = 0
    elsewhere: int = 0
    first_elsewhere: str = ""
    unplaced: int = 0
    """Files of another kind of store: the same directory can have two addresses."""
    first_ms: int | None = None
    last_ms: int | None = None
    batches: list[SinkBatch] = msgspec.field(default_factory=list)
    unreadable: list[str] = msgspec.field(default_factory=list)
    unread: list[str] = msgspec.field(default_factory=list)
    _inside: dict[str, str | Whereabouts] = msgspec.field(default_factory=dict)
    """By directory as logged, where it is below the output."""

    def add(self, entry: SinkEntry) -> None:
        """Take one entry."""
        self.files += 1
        if entry.modified_ms:
            self.first_ms = min(self.first_ms or entry.modified_ms, entry.modified_ms)
            self.last_ms = max(self.last_ms or 0, entry.modified_ms)
        path = parse_logged_path(entry.path)
        below = None if path is None else self._below(path)
        if path is None or below is Whereabouts.ELSEWHERE:
            self.elsewhere += 1
            self.first_elsewhere = self.first_elsewhere or show_path(entry.path)
        elif isinstance(below, str):
            self.unlisted.pop((below, path.name), None)
        else:
            self.unplaced += 1

    def _below(self, path: LoggedPath) -> str | Whereabouts:
        if path.home not in self._inside:
            if len(self._inside) > MOST_BATCHES:
                self._inside.clear()
            self._inside[path.home] = _below(path.home, self.place)
        return self._inside[path.home]


def read_file_output(table: Reader, display_name: str) -> FileOutput | NotRead:
    """Read what an output directory of Spark's file sink tells.

    Args:
        table: Reads the output directory.
        display_name: The output as people know it.
    """
    try:
        log = read_sink_log(table)
        data = _data_files(table)
    except HoldfastError as error:
        return NotRead(display_name=display_name, why=error.why)
    if log is None or log.newest is None:
        return FileOutput(
            display_name=display_name, has_log=False, has_files=bool(data), looked=len(data)
        )
    return _read_log(table, log, data, display_name=display_name)


def _read_log(
    table: Reader, log: SinkLog, data: dict[tuple[str, str], str], *, display_name: str
) -> FileOutput:
    listed = _Listed(unlisted=dict(data), place=table.location)
    base = max(log.compacts, default=-1)
    compact_bytes = _read_compact(table, base, listed) if base >= 0 else 0
    above = [number for number in log.entries if number > base]
    for number in above[-MOST_BATCHES:]:
        _read_batch(table, number, listed)
    is_whole = not (listed.unreadable or listed.unread or listed.unplaced)
    unlisted = listed.unlisted if is_whole and len(above) <= MOST_BATCHES else {}
    return FileOutput(
        display_name=display_name,
        has_files=bool(data),
        newest=log.newest,
        compact=base if base >= 0 else None,
        compact_bytes=compact_bytes,
        interval=find_interval(log),
        holes=tuple(_holes(base, above)),
        unreadable=tuple(listed.unreadable),
        unread=tuple(listed.unread),
        batches=tuple(listed.batches),
        first_ms=listed.first_ms,
        last_ms=listed.last_ms,
        files=listed.files,
        elsewhere=listed.elsewhere,
        first_elsewhere=listed.first_elsewhere,
        unlisted=len(unlisted),
        first_unlisted=show_path(unlisted[min(unlisted)]) if unlisted else "",
        looked=len(data),
    )


def find_interval(log: SinkLog) -> int:
    """Return how often Spark compacts a log; as in `CompactibleFileStreamLog.compactInterval`."""
    if len(log.compacts) > 1:
        return log.compacts[-1] - log.compacts[-2]
    newest = max(log.compacts, default=DEFAULT_INTERVAL - 1) + 1
    # No log comes so far: a larger number is no batch that Spark has run.
    largest = min(newest // 2, LARGEST_INTERVAL) if newest // 2 > DEFAULT_INTERVAL else 0
    divisors = range(DEFAULT_INTERVAL, largest + 1)
    return next((each for each in divisors if newest % each == 0), newest)


def _data_files(table: Reader) -> dict[tuple[str, str], str]:
    """Return data files of the directory, by directory and name: up to a page."""
    found = {}
    for info in table.walk_page("").files:
        directory, name = posixpath.split(info.path)
        parts = directory.split("/") if directory else []
        if is_data_name(name) and not any(each.startswith((".", "_")) for each in parts):
            found[directory, name] = info.path
    return found


def _holes(base: int, above: Sequence[int]) -> Iterator[int]:
    there, found = set(above), 0
    for number in range(base + 1, max(above, default=base)):
        if found == MOST_HOLES:
            return
        if number not in there:
            found += 1
            yield number


def _read_compact(table: Reader, base: int, listed: _Listed) -> int:
    path = f"{DIRECTORY}/{base}.compact"
    try:
        info = table.stat(path)
    except ReadError as error:
        listed.unread.append(f"{path}: {error.why}")
        return 0
    size = 0 if info is None else info.size_bytes
    if size > LARGEST_READ:
        listed.unread.append(f"{path}: it has {size >> 20:,} MB")
        return size
    for entry in _entries(table, path, listed):
        listed.add(entry)
    return size


def _read_batch(table: Reader, number: int, listed: _Listed) -> None:
    files = written_ms = 0
    for entry in _entries(table, f"{DIRECTORY}/{number}", listed):
        listed.add(entry)
        files += 1
        written_ms = max(written_ms, entry.modified_ms)
    listed.batches.append(SinkBatch(batch=number, files=files, written_ms=written_ms))


def _entries(table: Reader, path: str, listed: _Listed) -> Iterator[SinkEntry]:
    try:
        for entry in parse_sink_log(path, read_chunks(table, path)):
            if isinstance(entry, Unparsed):
                listed.unreadable.append(f"{entry.path}: {entry.reason}")
            else:
                yield entry
    except ReadError as error:
        listed.unread.append(f"{path}: {error.why}")


def _below(home: str, place: Location) -> str | Whereabouts:
    """Return where a logged directory is below the output."""
    try:
        logged = parse_location(home)
    except LocationError:
        return Whereabouts.UNKNOWN
    if place.is_local and logged.is_local:
        inner, outer = os.path.realpath(logged.path), os.path.realpath(place.path)
        is_in = inner == outer or inner.startswith(f"{outer.rstrip('/')}/")
        return inner[len(outer) :].strip("/") if is_in else Whereabouts.ELSEWHERE
    if place.scheme != logged.scheme:
        return Whereabouts.UNKNOWN
    is_in = is_inside(logged, place)
    return logged.path[len(place.path) :].strip("/") if is_in else Whereabouts.ELSEWHERE
