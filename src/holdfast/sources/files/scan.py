"""One pass over a file source's log: what it says, in constant memory and bounded requests.

Spark reads the newest compact file of the log and the plain files above it. A log beyond
`LARGEST_READ` is read in evenly spaced slices: then its figures are of the slices only.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import msgspec

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import ReadError
from holdfast.formats.logged_paths import LoggedPath, common_directory, parse_logged_path
from holdfast.storage.read import Reader, read_chunks

LARGEST_READ = 32 << 20
"""Of one compact file, in bytes: some 300,000 entries, about two seconds."""
SLICES, SLICE_BYTES = 64, 64 << 10
MOST_NEEDED = 500
"""Files of batches that are not committed which are looked at."""
SAMPLE = 200
MOST_DIRECTORIES = 1_000
MOST_COMPARED = 20_000
"""Paths that are kept to see whether one is in the log under two addresses."""
MOST_ROOTS = 8

Logged = tuple[LoggedPath, FileEntry]


class LogScan(msgspec.Struct, kw_only=True):
    """What the log says; filled entry by entry."""

    done: int
    """Entries above this log offset belong to batches that are not committed."""
    is_whole: bool = True
    files: int = 0
    compact_bytes: int = 0
    newest: Logged | None = None
    """The entry with the highest timestamp."""
    last: LoggedPath | None = None
    """The entry that was written last."""
    needed: list[Logged] = msgspec.field(default_factory=list)
    needed_files: int = 0
    sample: list[Logged] = msgspec.field(default_factory=list)
    """Of the other entries: every one is in it with the same probability."""
    roots: dict[str, None] = msgspec.field(default_factory=dict)
    directories: dict[str, None] = msgspec.field(default_factory=dict)
    """Locations of directories with logged files."""
    common: str | None = None
    """The directory that all files with the last root are in."""
    repeated: int = 0
    """Paths that are in the log under two schemes or authorities, with one timestamp."""
    odd_paths: int = 0
    """Paths that are not ones Spark writes; they are not opened."""
    unparsed: tuple[Unparsed, ...] = ()
    _compared: dict[tuple[str, int], str] = msgspec.field(default_factory=dict)
    _random: Random = msgspec.field(default_factory=lambda: Random(0))  # noqa: S311 - a sample, no secret

    def add(self, entry: FileEntry) -> None:
        """Take one entry."""
        self.files += 1
        path = parse_logged_path(entry.path)
        if path is None:
            self.odd_paths += 1
            return
        if self.last is None or self.last.home != path.home:
            self._place(path)
        self.last = path
        if self.newest is None or entry.timestamp_ms > self.newest[1].timestamp_ms:
            self.newest = (path, entry)
        self._compare(path, entry)
        if entry.log_offset > self.done:
            self.needed_files += 1
            if len(self.needed) < MOST_NEEDED:
                self.needed.append((path, entry))
            return
        others = self.files - self.needed_files - self.odd_paths
        if len(self.sample) < SAMPLE:
            self.sample.append((path, entry))
        elif (chosen := self._random.randrange(others)) < SAMPLE:
            self.sample[chosen] = (path, entry)

    def _place(self, path: LoggedPath) -> None:
        is_same_root = self.last is not None and self.last.root == path.root
        if is_same_root and self.common is not None:
            self.common = common_directory(self.common, path.directory)
        else:
            self.common = path.directory
        if len(self.roots) < MOST_ROOTS:
            self.roots[path.root] = None
        if len(self.directories) < MOST_DIRECTORIES:
            self.directories[path.home] = None

    def _compare(self, path: LoggedPath, entry: FileEntry) -> None:
        key = (f"{path.directory}/{path.name}", entry.timestamp_ms)
        before = self._compared.get(key)
        if before is None and len(self._compared) < MOST_COMPARED:
            self._compared[key] = path.root
        self.repeated += before is not None and before != path.root


def scan_log(log: SourceLog, checkpoint: Reader, *, done: int) -> LogScan:
    """Read a log once.

    Args:
        log: Which files it has.
        checkpoint: Reads the checkpoint.
        done: The log offset of the newest committed batch; -1 without any.
    """
    scan = LogScan(done=done)
    unparsed = []
    for path, is_compact in log_paths(log):
        for entry in _entries(checkpoint, path, scan if is_compact else None):
            if isinstance(entry, Unparsed):
                unparsed.append(entry)
            else:
                scan.add(entry)
    scan.unparsed = tuple(unparsed)
    return scan


def log_paths(log: SourceLog) -> Iterator[tuple[str, bool]]:
    """Yield the files of a log that Spark reads, oldest first, and whether each is compact."""
    home = f"{SOURCES}/{log.name}"
    base = max(log.compacts, default=-1)
    if base >= 0:
        yield f"{home}/{base}.compact", True
    yield from ((f"{home}/{number}", False) for number in log.entries if number > base)


def _entries(reader: Reader, path: str, scan: LogScan | None) -> Iterator[FileEntry | Unparsed]:
    try:
        size = 0
        if scan is not None:
            info = reader.stat(path)
            size = scan.compact_bytes = 0 if info is None else info.size_bytes
        if scan is not None and size > LARGEST_READ:
            scan.is_whole = False
            yield from _slices(reader, path, size)
        else:
            yield from parse_file_log(path, read_chunks(reader, path))
    except ReadError as error:
        yield Unparsed(path=path, reason=f"it could not be read: {error.why}", unread=True)


def _slices(reader: Reader, path: str, size: int) -> Iterator[FileEntry | Unparsed]:
    """Yield the entries in evenly spaced slices, the last one included."""
    step = (size - SLICE_BYTES) // (SLICES - 1)
    for number in range(SLICES):
        is_last = number == SLICES - 1
        start = size - SLICE_BYTES if is_last else number * step
        raw = reader.read(path, start=start, length=SLICE_BYTES) or b""
        lines = raw.splitlines()[1 : None if is_last else -1]
        yield from parse_file_log(path, iter((b"\n".join((b"v1", *lines)),)))
