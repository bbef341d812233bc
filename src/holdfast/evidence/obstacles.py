"""What is in the place of an entry that Spark reads or writes next.

Spark takes every file of a log whose name Java parses as a number for an entry, `0007` too, and
then opens `7`. A directory is not an entry, but Spark cannot write the entry of that name. Both
hold for `offsets`, `commits` and the log of a file source. There the names of compact files, those
of directories too, also say after how many entries Spark compacts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from holdfast.checkpoint.layout import COMMITS, OFFSETS, SOURCES, Kind, number_to_spark, parse_name
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.evidence.state_obstacles import find_state_obstacles
from holdfast.sources.registry import parse_offset

_COMPACT = ".compact"
CONCURRENT = "CONCURRENT_STREAM_LOG_UPDATE"
"""In Spark's error when the entry that it writes is there; it is not another query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """A file or a directory in the place of an entry."""

    path: str
    entry: str
    """The file that cannot be read or written."""
    number: int
    """Of that entry; of a state file, the batch that reads or writes it."""
    is_read: bool
    """Whether Spark takes it for an entry at every start; else it fails when it writes that."""
    because: str
    error: str
    """What Spark's message has in it."""


def find_obstacles(checkpoint: Checkpoint) -> tuple[Obstacle, ...]:
    """Name everything that stops Spark by its place alone, what a start reads first."""
    found = [
        *_in_log(checkpoint, OFFSETS, max(checkpoint.offsets, default=-1)),
        *_in_log(checkpoint, COMMITS, max(checkpoint.commits, default=-1)),
    ]
    for log in _file_logs(checkpoint):
        found += _in_source_log(log)
    found += _in_state(checkpoint)
    return tuple(sorted(found, key=lambda each: (not each.is_read, each.number)))


def _in_state(checkpoint: Checkpoint) -> Iterator[Obstacle]:
    for each in find_state_obstacles(checkpoint):
        what = "Spark takes it for a snapshot" if each.is_read else "Spark cannot write it"
        yield Obstacle(
            path=each.path,
            entry=each.entry,
            number=each.version - (0 if each.is_read else 1),
            is_read=False,  # in a batch, not at the start
            because=f"{each.path} is in the place of {each.entry}, and {what}",
            error="STREAM_FAILED",
        )


def _in_log(checkpoint: Checkpoint, log: str, newest: int) -> Iterator[Obstacle]:
    if not (checkpoint.log_directories or checkpoint.foreign or checkpoint.lone_sidecars):
        return
    directories = [each for each in checkpoint.log_directories if posixpath.dirname(each) == log]
    files = [
        each
        for each in checkpoint.foreign
        if posixpath.dirname(each) == log and each not in checkpoint.log_directories
    ]
    sidecars = [each for each in checkpoint.lone_sidecars if posixpath.dirname(each) == log]
    yield from _misread(log, files, newest)
    yield from _unwritable(log, directories, sidecars=sidecars, newest=newest)


def _misread(log: str, files: Iterable[str], newest: int) -> Iterator[Obstacle]:
    """Yield files that Spark takes for an entry newer than all that are there."""
    for path in files:
        number = number_to_spark(posixpath.basename(path))
        if number is not None and number > newest:
            because = f"Spark takes {path} for the entry {number}, and {log}/{number} is missing"
            yield Obstacle(
                path=path,
                entry=f"{log}/{number}",
                number=number,
                is_read=True,
                because=because,
                error="does not exist",
            )


def _unwritable(
    log: str, directories: Iterable[str], *, sidecars: Collection[str], newest: int
) -> Iterator[Obstacle]:
    """Yield what is where Spark will write an entry: a directory, or a checksum of that name."""
    for path in (*directories, *sidecars):
        name = parse_name(path)
        number: int | None = name.batch_id if name.kind is Kind.ENTRY else None
        if name.kind is Kind.SIDECAR:
            number = number_to_spark(name.target or "")
        if number is None or number <= newest:
            continue
        what = "a checksum without its file" if path in sidecars else "a directory"
        because = f"{path} is {what}, and Spark cannot write the entry {log}/{number}"
        # Hadoop moves the checksum of an entry too, and fails at what is in its place.
        is_taken = name.kind is Kind.ENTRY
        yield Obstacle(
            path=path,
            entry=f"{log}/{number}",
            number=number,
            is_read=False,
            because=because,
            error=CONCURRENT if is_taken else "Source",
        )


def _file_logs(checkpoint: Checkpoint) -> Iterator[SourceLog]:
    """Yield the logs of the file sources."""
    if not checkpoint.sources:
        return
    entry = checkpoint.newest_readable
    known = {
        each.source
        for each in (entry.offsets if isinstance(entry, OffsetEntry) else ())
        if each.text is not None and parse_offset(each.text).log_index is not None
    }
    yield from (log for log in checkpoint.sources if log.name in known)


def _in_source_log(log: SourceLog) -> Iterator[Obstacle]:
    home = f"{SOURCES}/{log.name}"
    newest = max((*log.entries, *log.compacts), default=-1)
    directories = [f"{home}/{name}" for name in log.directories]
    yield from _misread(home, log.foreign, newest)
    for path in (*log.foreign, *directories):
        name = posixpath.basename(path)
        number = number_to_spark(name.removesuffix(_COMPACT)) if name.endswith(_COMPACT) else None
        if number is not None and number >= 0:
            because = f"Spark counts after how many entries to compact, and takes {path} into it"
            yield Obstacle(
                path=path,
                entry=f"{home}/{number}.compact",
                number=number,
                is_read=True,
                because=because,
                error="STREAM_FAILED",
            )
    later = [each for each in log.lone_sidecars if each != f"{home}/.{newest + 1}.crc"]
    for each in _unwritable(home, directories, sidecars=later, newest=newest):
        if not _is_compacted(log, each.number):
            yield each


def _is_compacted(log: SourceLog, number: int) -> bool:
    """Return whether Spark writes `<number>.compact` instead of this entry."""
    if not log.compacts:
        return False
    newest = log.compacts[-1]
    interval = newest - log.compacts[-2] if len(log.compacts) > 1 else newest + 1
    return interval > 0 and (number + 1) % interval == 0
