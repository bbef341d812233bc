"""Which files are the event log of which application, and in which order.

From Spark 4.2 `core/…/deploy/history/EventLogFileWriters.scala` and `EventLogFileCompactor.scala`:

    <app>[.codec][.inprogress]                 one file; the default up to Spark 3
    eventlog_v2_<app>/events_<n>_<app>[.codec][.compact]
                      appstatus_<app>[.inprogress]
                                               rolling files; the default from Spark 4
    eventlog, eventlog-<time>.gz               Databricks' delivery of cluster logs

`.inprogress` stays when a driver is killed. A file `.compact` replaces every file up to its number.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice

import msgspec

from holdfast.storage.read import FileInfo, Reader

MOST_FILES = 100_000
"""That are listed below a location; more than this is not a directory of event logs."""
_ROLLED = re.compile(r"events_(\d{1,9})_.+")
_STATUS = "appstatus_"
_OPEN = ".inprogress"
_COMPACTED = ".compact"
_DELIVERED = re.compile(r"eventlog(?:-.+)?")
_CODECS = re.compile(r"(?:\.(?:lz4|lzf|snappy|zstd|gz))?(?:\.inprogress)?$")


class ApplicationLog(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one application, or of one attempt of it, in the order of their events."""

    name: str
    files: tuple[FileInfo, ...]
    is_open: bool = False
    """Whether Spark has not closed it: the driver is running, or was killed."""
    compacted_to: int | None = None
    """The number of the file that the history server's compaction wrote; None without any."""
    missing: tuple[int, ...] = ()
    """Numbers of rolling files that are not there."""
    is_certain: bool = False
    """Whether the names alone say that this is an event log."""

    @property
    def modified(self) -> datetime:
        """When its newest file was last written."""
        return max((each.modified for each in self.files), default=datetime.fromtimestamp(0, UTC))


class _Rolling(msgspec.Struct):
    numbered: dict[int, FileInfo] = msgspec.field(default_factory=dict)
    compacted_to: int | None = None
    is_open: bool = False


class FoundLogs(msgspec.Struct, frozen=True, kw_only=True):
    """What is below a location."""

    logs: tuple[ApplicationLog, ...]
    """The one that was written last comes last."""
    has_more: bool = False
    """Whether there are more files than are looked at."""


def find_logs(reader: Reader) -> FoundLogs:
    """Return every application below a directory; what is no event log is found out by reading.

    Raises:
        ReadError: The store did not let us list it.
    """
    files = list(islice(reader.walk(), MOST_FILES + 1))
    logs = sorted(_group(files[:MOST_FILES]), key=lambda each: (each.modified, each.name))
    return FoundLogs(logs=tuple(logs), has_more=len(files) > MOST_FILES)


def _group(files: Iterable[FileInfo]) -> Iterable[ApplicationLog]:
    rolling: dict[str, _Rolling] = defaultdict(_Rolling)
    delivered: dict[str, list[FileInfo]] = defaultdict(list)
    for info in files:
        directory, name = posixpath.split(info.path)
        if matched := _ROLLED.fullmatch(name):
            _add_rolled(rolling[directory], int(matched[1]), info)
        elif name.startswith(_STATUS):
            rolling[directory].is_open |= name.endswith(_OPEN)
        elif _DELIVERED.fullmatch(name):
            delivered[directory].append(info)
        elif name and not name.startswith((".", "_")):
            yield single_file(info)
    yield from (_rolled(directory, found) for directory, found in rolling.items())
    for directory, parts in delivered.items():
        # `eventlog` is the newest; the names of the others sort by their time.
        in_order = sorted(parts, key=lambda each: (each.path.endswith("eventlog"), each.path))
        yield ApplicationLog(name=directory or "eventlog", files=tuple(in_order), is_open=True)


def single_file(info: FileInfo) -> ApplicationLog:
    """Return an application whose log is one file."""
    is_open = info.path.endswith(_OPEN)
    name = _CODECS.sub("", info.path)
    return ApplicationLog(name=name, files=(info,), is_open=is_open, is_certain=is_open)


def _add_rolled(found: _Rolling, number: int, info: FileInfo) -> None:
    if info.path.endswith(_COMPACTED):
        found.compacted_to = max(number, found.compacted_to or 0)
        found.numbered[number] = info
    else:
        found.numbered.setdefault(number, info)


def _rolled(directory: str, found: _Rolling) -> ApplicationLog:
    first = found.compacted_to or 1
    numbers = sorted(each for each in found.numbered if each >= first)
    last = numbers[-1] if numbers else first
    return ApplicationLog(
        name=directory or "eventlog_v2",
        files=tuple(found.numbered[each] for each in numbers),
        is_open=found.is_open,
        compacted_to=found.compacted_to,
        is_certain=True,
        missing=_gaps(first, numbers) if last - first < MOST_FILES else (first,),
    )


def _gaps(first: int, numbers: list[int]) -> tuple[int, ...]:
    """Return the numbers between the first and the last that are not there."""
    there = set(numbers)
    return tuple(each for each in range(first, max(numbers, default=first)) if each not in there)
