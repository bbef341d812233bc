"""Looks at the files that a source has logged, and at what lies beside them. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum

from holdfast.checkpoint.logs import READERS, Logs
from holdfast.checkpoint.near_logs import read_logs_near
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources.files import FileEntry
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.errors import HoldfastError
from holdfast.formats.logged_paths import LoggedPath, show_path
from holdfast.ids import BatchId
from holdfast.sources.files.found import FileSource, LookedAt
from holdfast.sources.files.listing import Listings, compare_with_log, list_directories
from holdfast.sources.files.scan import Logged, LogScan, scan_log
from holdfast.sources.probe import CANNOT_BE_ASKED, NotProbed, Question, SourceProbe
from holdfast.sources.registry import parse_offset
from holdfast.storage.location import kind_of
from holdfast.storage.read import Reader

CLOCKS_DIFFER_MS = 2_000
"""Stores keep times to the second."""

Opens = Callable[[str], Reader]


def ask_files(question: Question) -> SourceProbe:
    """Look at the files that the log in the checkpoint names."""
    if question.log is None or question.checkpoint is None:
        return question.not_probed(CANNOT_BE_ASKED)
    looks = question.looks
    return probe_files(question.log, question.checkpoint, looks.open, now=looks.now)


def probe_files(
    log: SourceLog, checkpoint: Reader, open_at: Opens, *, now: datetime
) -> SourceProbe:
    """Look at the files that a source has logged.

    Args:
        log: The source's log, as the checkpoint shows it.
        checkpoint: Reads the checkpoint.
        open_at: Returns a reader of a directory.
        now: When it is looked at.
    """
    try:
        done = _committed_offset(read_logs_near(checkpoint, None), log.name)
        scan = scan_log(log, checkpoint, done=done)
    except HoldfastError as error:
        return SourceProbe(source=log.name, display_name="files", found=NotProbed(why=error.why))
    if scan.newest is None:
        why = f"the log in sources/{log.name} names no file that can be looked at"
        return SourceProbe(source=log.name, display_name="files", found=NotProbed(why=why))
    listings = list_directories(scan, open_at)
    listed = compare_with_log(scan, listings, log, checkpoint=checkpoint, open_at=open_at)
    pending, read = _look_at(scan, listings, open_at)
    found = replace(_describe(scan, scan.newest, now), listed=listed, pending=pending, read=read)
    if _is_elsewhere(found):
        why = (
            f"none of the {found.pending.looked + found.read.looked:,} files that were looked at "
            f"is on this machine's disk"
        )
        return SourceProbe(
            source=log.name, display_name=found.display_name, found=NotProbed(why=why)
        )
    is_lossy = bool(found.pending.gone)
    return SourceProbe(
        source=log.name,
        display_name=found.display_name,
        found=found,
        lossless_for=timedelta(0) if is_lossy else None,
        lossless_by="files of a pending batch are gone" if is_lossy else "",
    )


def _is_elsewhere(found: FileSource) -> bool:
    """Return whether the disk of another machine, or of a container, is meant."""
    looked = found.pending.looked + found.read.looked
    is_all_gone = found.pending.gone + found.read.gone == looked
    kind = kind_of(found.directory)
    is_disk = kind is not None and kind.is_local
    return is_disk and is_all_gone and not found.listed.files


def _committed_offset(logs: Logs, source: str) -> int:
    """Return the log offset that the newest committed batch ends with; -1 without any."""
    offsets = logs.offsets.entries
    newest = max(offsets, default=BatchId(-1))
    is_committed = newest in logs.commits.entries
    entry = offsets.get(newest if is_committed else BatchId(newest - 1))
    if isinstance(entry, OffsetEntry):
        return _log_offset(entry, source)
    planned = offsets.get(newest)
    if newest > 0 and not is_committed and isinstance(planned, OffsetEntry):
        # Without the entry before it, a batch has at least its last entry of the log.
        return _log_offset(planned, source) - 1
    return -1


def _log_offset(entry: OffsetEntry, source: str) -> int:
    for each in entry.offsets:
        if each.source == source and each.text is not None:
            offset = parse_offset(each.text)
            return -1 if offset.log_index is None else offset.log_index
    return -1


def _describe(scan: LogScan, newest: Logged, now: datetime) -> FileSource:
    path, entry = newest
    last = scan.last or path
    directory = show_path(f"{last.root}{scan.common or '/'}")
    return FileSource(
        display_name=f"files in {directory}",
        directory=directory,
        last_directory=show_path(last.home),
        roots=tuple(show_path(root) for root in scan.roots),
        logged=scan.files,
        is_whole=scan.is_whole,
        compact_bytes=scan.compact_bytes,
        newest_ms=entry.timestamp_ms,
        newest_path=path.display_name,
        future_ms=max(0, entry.timestamp_ms - int(now.timestamp() * 1000)),
        repeated=scan.repeated,
        odd_paths=scan.odd_paths,
        unreadable=tuple(f"{each.path}: {each.reason}" for each in scan.unparsed),
    )


class Seen(Enum):
    """What became of a file."""

    THERE = "there"
    GONE = "gone"
    CHANGED = "changed"
    UNKNOWN = "unknown"
    """The store did not let us look."""


def _look_at(scan: LogScan, listings: Listings, open_at: Opens) -> tuple[LookedAt, LookedAt]:
    """Look at the files of pending batches, and at a sample of the others."""
    readers = {
        home: _open(open_at, home)
        for home in {path.home for path, _ in (*scan.needed, *scan.sample)}
    }

    def ask(logged: Logged) -> Seen:
        path, entry = logged
        # A listing shows that a file is as it was; what else it shows may be a link or an alias.
        listed_ms = listings.modified_ms.get((path.home, path.name))
        if listed_ms is not None and _compare(listed_ms, entry) is Seen.THERE:
            return Seen.THERE
        return _stat(readers[path.home], path, entry)

    others = scan.files - scan.needed_files - scan.odd_paths
    with ThreadPoolExecutor(READERS) as pool:
        return (
            _count(scan.needed, scan.needed_files, pool.map(ask, scan.needed)),
            _count(scan.sample, others, pool.map(ask, scan.sample)),
        )


def _stat(reader: Reader | None, path: LoggedPath, entry: FileEntry) -> Seen:
    try:
        info = None if reader is None else reader.stat(path.name)
    except HoldfastError:
        return Seen.UNKNOWN
    if info is None:
        return Seen.UNKNOWN if reader is None else Seen.GONE
    return _compare(int(info.modified.timestamp() * 1000), entry)


def _compare(modified_ms: int, entry: FileEntry) -> Seen:
    is_later = modified_ms > entry.timestamp_ms + CLOCKS_DIFFER_MS
    return Seen.CHANGED if is_later else Seen.THERE


def _open(open_at: Opens, location: str) -> Reader | None:
    try:
        return open_at(location)
    except HoldfastError:
        return None


def _count(logged: Iterable[Logged], files: int, seen: Iterable[Seen]) -> LookedAt:
    found: dict[Seen, list[LoggedPath]] = {each: [] for each in Seen}
    for (path, _), what in zip(logged, seen, strict=True):
        found[what].append(path)
    gone, changed = found[Seen.GONE], found[Seen.CHANGED]
    return LookedAt(
        files=files,
        looked=len(found[Seen.THERE]) + len(gone) + len(changed),
        gone=len(gone),
        changed=len(changed),
        first_gone=gone[0].display_name if gone else "",
        first_changed=changed[0].display_name if changed else "",
    )
