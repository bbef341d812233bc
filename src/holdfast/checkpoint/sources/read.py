"""Reads what the sources keep below `sources/`: names of their logs, and where they began.

The log of a file source can have 50 million entries: which files it has is read here, what is in
them is for `parse_file_log`. Kafka and rate keep a single file `0` that says where the first run
began; Iceberg keeps `offsets/0`. What else stands in directories is named and left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.checksums import is_sidecar, is_stale, sidecar_of
from holdfast.checkpoint.file_log import MOST_LINE_BYTES
from holdfast.checkpoint.layout import OFFSETS, SOURCES, Kind, Name, parse_name
from holdfast.checkpoint.sources.files import parse_file_log
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.errors import ReadError
from holdfast.ids import BatchId
from holdfast.storage.read import FileInfo, Reader, read_chunks

_LONGEST_START_TIME = 64
_LARGEST_CHECKED = 4 << 20
_LARGEST_VERIFIED = 64 << 20
"""In bytes: Hadoop's checksums of a larger file are not compared."""


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """A file that says where the first run of a source began, in words of its own."""

    path: str
    raw: bytes


class SourceLog(msgspec.Struct, frozen=True, kw_only=True):
    """What one source keeps."""

    name: str
    """Of its directory: the source's place in the plan (`0`), or its name."""
    began: Beginning | Unparsed | None
    """Where the first run began; None when the source keeps a log of files instead.

    Its kind understands it: `sources.registry.began_of`.
    """
    entries: tuple[BatchId, ...]
    """Numbers of the log's plain files, lowest first."""
    compacts: tuple[BatchId, ...]
    """Numbers of the files that hold everything up to them (`<n>.compact`), lowest first."""
    unparsed: tuple[Unparsed, ...]
    """Plain files above the newest compact one that were not understood."""
    size_bytes: int
    leftovers: tuple[str, ...]
    lone_sidecars: tuple[str, ...]
    """Hadoop's checksums of files that are not there."""
    directories: tuple[str, ...] = ()
    """Names of the directories in it; known only when everything was read."""
    stale_sidecars: tuple[str, ...] = ()
    """Hadoop's checksums that do not fit a file that Spark reads at every start."""
    unverified: tuple[str, ...] = ()
    """Files that Spark reads at every start and that have no usable checksum beside them."""
    misplaced: tuple[str, ...] = ()
    """Files that Spark reads at every start, and whose number no entry names."""
    foreign: tuple[str, ...] = ()
    """Files that Spark does not write there."""
    partly_read: tuple[str, ...] = ()
    """Files that Spark reads at every start and of which only the ends were looked at."""
    listed_only: tuple[str, ...] = ()
    """Files that Spark reads at every start, and that were not read."""


def read_sources(reader: Reader) -> tuple[SourceLog, ...]:
    """Read what lies below `sources/`.

    Raises:
        ReadError: A directory cannot be listed.
    """
    return tuple(_read_one(reader, name) for name in reader.list(SOURCES).directories)


def _read_one(reader: Reader, name: str) -> SourceLog:
    listing = reader.list(f"{SOURCES}/{name}")
    found = read_source(reader, name, listing.files)
    if OFFSETS in listing.directories:
        path = f"{SOURCES}/{name}/{OFFSETS}/0"
        raw = read_whole(reader, path)
        began = Beginning(path=path, raw=raw) if isinstance(raw, bytes) else raw
        found = replace(found, began=began)
    return replace(found, directories=listing.directories)


def count_files(reader: Reader, log: SourceLog, numbers: range) -> int | None:
    """Count the files that entries of a file source's log name.

    None when that cannot be told cheaply: an entry is gone, damaged, or merged into a compact file.
    """
    there = set(log.entries)
    # Damaged offsets can be so far apart that what lies between must not be counted through.
    if numbers.stop - numbers.start > len(there) or not there.issuperset(numbers):
        return None
    total = 0
    for number in numbers:
        path = f"{SOURCES}/{log.name}/{number}"
        for entry in parse_file_log(path, read_chunks(reader, path)):
            if isinstance(entry, Unparsed):
                return None
            total += 1
    return total


def read_source(
    reader: Reader, name: str, files: Iterable[FileInfo], *, is_shallow: bool = False
) -> SourceLog:
    """Read what one source keeps in these files; a shallow look reads only the newest of a log."""
    named = [(parse_name(info.path), info) for info in files]
    entries = {each.batch_id: info for each, info in named if each.kind is Kind.ENTRY}
    compacts = {each.batch_id: info for each, info in named if each.kind is Kind.COMPACT}
    began = _read_beginning(reader, entries[BatchId(0)]) if list(entries) == [0] else None
    newest = max((number for number in compacts if number is not None), default=BatchId(-1))
    compact = compacts.get(newest)
    tail = [info for number, info in entries.items() if number is not None and number > newest]
    read_by_spark = {info.path: info.size_bytes for info in (*tail, compact) if info is not None}
    left_out = _all_but_newest(read_by_spark) if is_shallow and began is None else set()
    tail = [info for info in tail if info.path not in left_out]
    compact = None if compact is None or compact.path in left_out else compact
    verified = {} if is_shallow else _verify(reader, read_by_spark, named)
    fitting = {path for path, fit in verified.items() if fit is _Fit.FITS}
    checked = _check_log(reader, tail, compact) if began is None else _Checked()
    return SourceLog(
        name=name,
        began=began,
        entries=tuple(sorted(batch for batch in entries if batch is not None)),
        compacts=tuple(sorted(batch for batch in compacts if batch is not None)),
        unparsed=checked.unparsed,
        size_bytes=sum(info.size_bytes for each, info in named if each.batch_id is not None),
        leftovers=tuple(info.path for each, info in named if each.kind is Kind.TEMP),
        lone_sidecars=tuple(_lone_sidecars(named)),
        stale_sidecars=tuple(sidecar_of(path) for path in verified if path not in fitting),
        unverified=tuple(
            path for path in read_by_spark if verified.get(path, _Fit.UNUSABLE) is _Fit.UNUSABLE
        ),
        misplaced=checked.misplaced,
        foreign=tuple(info.path for each, info in named if each.kind is Kind.FOREIGN),
        partly_read=tuple(
            path
            for path, size in read_by_spark.items()
            if path not in left_out | fitting and size > _most_parsed(path)
        ),
        listed_only=tuple(sorted(left_out)),
    )


def _all_but_newest(sizes: Mapping[str, int]) -> set[str]:
    """Return the files of a log without its newest, and without those that Spark cannot read."""
    newest = max(sizes, key=lambda path: parse_name(path).batch_id or 0, default="")
    small = {newest} if sizes.get(newest, 0) <= _LARGEST_CHECKED else set()
    return {path for path, size in sizes.items() if size and path not in small}


def _most_parsed(path: str) -> int:
    return MOST_LINE_BYTES if parse_name(path).kind is Kind.COMPACT else _LARGEST_CHECKED


class _Fit(Enum):
    """How Hadoop's checksums fit a file."""

    FITS = "fits"
    STALE = "stale"
    UNUSABLE = "unusable"


def _verify(
    reader: Reader, files: Mapping[str, int], named: list[tuple[Name, FileInfo]]
) -> dict[str, _Fit]:
    """Say of each file with Hadoop's checksums beside it how they fit."""
    sidecars = {info.path for each, info in named if each.kind is Kind.SIDECAR}
    found = {}
    for path, size in files.items():
        sidecar = sidecar_of(path)
        if sidecar not in sidecars or size > _LARGEST_VERIFIED:
            continue
        raw = read_whole(reader, sidecar)
        content = read_whole(reader, path)
        if not is_sidecar(sidecar, raw):
            found[path] = _Fit.UNUSABLE
        elif is_stale(sidecar, raw, content, parse=_parse_entries):
            found[path] = _Fit.STALE
        else:
            found[path] = _Fit.FITS
    return found


def _parse_entries(raw: bytes) -> object:
    return list(parse_file_log("", iter((raw,))))


def _lone_sidecars(named: list[tuple[Name, FileInfo]]) -> Iterator[str]:
    there = {info.path.rpartition("/")[2] for _, info in named}
    for each, info in named:
        if each.kind is Kind.SIDECAR and each.target not in there:
            yield info.path


class _Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What the files that Spark reads at every start say."""

    unparsed: tuple[Unparsed, ...] = ()
    misplaced: tuple[str, ...] = ()


def _check_log(reader: Reader, tail: list[FileInfo], compact: FileInfo | None) -> _Checked:
    """Check the files that Spark reads at every start.

    Every entry names the file of the log that it was written to. A number that no entry names shows
    that the file of that number, or the compact one, is not what Spark wrote.
    """
    unparsed: list[Unparsed] = []
    numbers: set[int] = set()
    for each in _entries(reader, tail, compact):
        if isinstance(each, Unparsed):
            unparsed.append(each)
        else:
            numbers.add(each)
    if unparsed:
        return _Checked(unparsed=tuple(unparsed))
    names = [info.path for info in tail if info.size_bytes <= _LARGEST_CHECKED]
    if compact is not None:
        names.append(compact.path)
    last = {path: parse_name(path).batch_id for path in names}
    return _Checked(misplaced=tuple(path for path in names if last[path] not in numbers))


def _entries(
    reader: Reader, tail: list[FileInfo], compact: FileInfo | None
) -> Iterator[Unparsed | int]:
    """Yield the number that each entry names, and what cannot be read."""
    if compact is not None:
        yield from _compact_entries(reader, compact)
    for info in tail:
        if info.size_bytes <= _LARGEST_CHECKED:
            raw = read_whole(reader, info.path)
            if isinstance(raw, Unparsed):
                yield raw
            elif raw is not None:
                yield from _numbers(info.path, raw)


def _numbers(path: str, raw: bytes) -> Iterator[Unparsed | int]:
    for each in parse_file_log(path, iter((raw,))):
        yield each if isinstance(each, Unparsed) else each.log_offset


def _compact_entries(reader: Reader, info: FileInfo) -> Iterator[Unparsed | int]:
    """Look at the beginning and the end of a compact file, which can have gigabytes."""
    head = read_whole(reader, info.path, length=_LONGEST_START_TIME)
    if isinstance(head, Unparsed):
        yield head
        return
    try:
        start = max(0, info.size_bytes - MOST_LINE_BYTES)
        end = reader.read(info.path, start=start) or b""
    except ReadError as error:
        yield Unparsed(path=info.path, reason=f"it could not be read: {error.why}", unread=True)
        return
    if start and not (head or b"").startswith(b"v1\n"):
        yield Unparsed(path=info.path, reason="its first line is not 'v1'", spark_says="malformed")
        return
    lines = end.splitlines()
    shown = lines if start == 0 else [b"v1", *lines[-1:]]
    yield from _numbers(info.path, b"\n".join(shown))


def _read_beginning(reader: Reader, info: FileInfo) -> Beginning | Unparsed | None:
    """Read a single file `0`; None when it is the first entry of a log of files."""
    raw = read_whole(reader, info.path, length=_LONGEST_START_TIME)
    if isinstance(raw, bytes) and raw.startswith(b"\0"):
        raw = read_whole(reader, info.path)
    elif raw is not None and not isinstance(raw, Unparsed):
        raw = None if b"{" in raw or raw.strip() == b"v1" else raw
    return Beginning(path=info.path, raw=raw) if isinstance(raw, bytes) else raw
