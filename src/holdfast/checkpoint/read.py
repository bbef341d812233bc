"""Reads a checkpoint: what is there, not whether it is good.

Files that cannot be understood, or may not be read, stay in the result as `Unparsed`. A running
query adds and purges entries meanwhile: one that was listed and is gone when read is left out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.checkpoint.checksums import parse_sidecar
from holdfast.checkpoint.commits import CommitEntry, parse_commit_entry
from holdfast.checkpoint.layout import (
    COMMITS,
    METADATA,
    OFFSETS,
    SOURCES,
    STATE,
    Kind,
    parse_name,
    parse_number,
)
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.sources.read import SourceLog, read_sources
from holdfast.checkpoint.state.read import Operator, read_state
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.storage.location import Location
from holdfast.storage.read import Listing, Reader

T = TypeVar("T")
READERS = 16
LARGEST_LOG = 512 << 20
"""Entries beyond this are not read: a hundred entries of a million partitions have two GB."""
EXPECTED = frozenset({COMMITS, OFFSETS, SOURCES, STATE})
NOTHING = Listing(files=(), directories=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Everything in a checkpoint that needs no state file to be opened."""

    location: Location
    metadata: QueryMetadata | Unparsed | None
    """None when there is no such file."""
    offsets: Mapping[BatchId, OffsetEntry | Unparsed]
    """By batch, lowest first."""
    commits: Mapping[BatchId, CommitEntry | Unparsed]
    """By batch, lowest first."""
    directories: frozenset[str]
    """Those Spark knows that are there, empty ones too where the store can have them."""
    sources: tuple[SourceLog, ...]
    state: tuple[Operator, ...]
    leftovers: tuple[str, ...]
    """Temp files of writers that were stopped."""
    lone_sidecars: tuple[str, ...]
    """Hadoop's checksums of entries that are not there: deleted by hand, and these forgotten."""
    stale_sidecars: tuple[str, ...]
    """Hadoop's checksums that do not fit their entry: it was changed after Spark wrote it."""
    foreign: tuple[str, ...]
    """Files and directories that Spark does not write there."""
    unlisted: tuple[Unparsed, ...] = ()
    """Where a directory should be and a file or a link is: what Spark would find is not known."""

    @property
    def unparsed(self) -> tuple[Unparsed, ...]:
        """Everything that is there and was not understood."""
        entries = [self.metadata, *self.offsets.values(), *self.commits.values()]
        began = [each for log in self.sources for each in (log.began, *log.unparsed)]
        state = [each for operator in self.state for each in operator.unparsed]
        found = (*self.unlisted, *entries, *began, *state)
        return tuple(each for each in found if isinstance(each, Unparsed))

    @property
    def newest_readable(self) -> OffsetEntry | None:
        """The newest offset entry that was understood."""
        entries = [each for each in self.offsets.values() if isinstance(each, OffsetEntry)]
        return entries[-1] if entries else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a checkpoint is there: a wrong path, or a query never started."""
        return self.metadata is None and not self.directories


def read_checkpoint(reader: Reader) -> Checkpoint:
    """Read the checkpoint at the reader's location.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    root = reader.list()
    # Commits first: a batch that a running query finishes in between must not look committed and
    # never planned, which is the mark of deleted offset entries.
    commits = _read_log(reader, COMMITS, parse_commit_entry)
    offsets = _read_log(reader, OFFSETS, parse_offset_entry)
    sources = read_sources(reader) if SOURCES in root.directories else ()
    below_state = reader.list(STATE) if STATE in root.directories else NOTHING
    state = read_state(reader, below_state.directories)
    metadata = read_whole(reader, METADATA)
    unlisted = tuple(_find_unlisted(root, below_state))
    blocked = {each.path for each in unlisted}
    top = [info.path for info in root.files if info.path not in (METADATA, *blocked)]
    logs = (offsets, commits)
    return Checkpoint(
        location=reader.location,
        metadata=parse_metadata(METADATA, metadata) if isinstance(metadata, bytes) else metadata,
        offsets=offsets.entries,
        commits=_with_late(reader, commits.entries, planned=offsets.entries),
        directories=EXPECTED.intersection(root.directories),
        sources=sources,
        state=state,
        leftovers=(*_named(top, Kind.TEMP), *_of(logs, sources, state, name="leftovers")),
        lone_sidecars=_of(logs, name="lone_sidecars"),
        stale_sidecars=_of(logs, name="stale_sidecars"),
        unlisted=unlisted,
        foreign=(
            *_named(top, Kind.FOREIGN, Kind.ENTRY, Kind.COMPACT),
            *(name for name in root.directories if name not in EXPECTED),
            *_of(logs, state, name="foreign"),
            *(info.path for info in below_state.files if info.path not in blocked),
        ),
    )


def _of(*parts: tuple[object, ...], name: str) -> tuple[str, ...]:
    """Return the paths that every part lists under a name."""
    return tuple(path for part in parts for each in part for path in getattr(each, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log(Generic[T]):
    entries: dict[BatchId, T | Unparsed]
    leftovers: tuple[str, ...]
    lone_sidecars: tuple[str, ...]
    stale_sidecars: tuple[str, ...]
    foreign: tuple[str, ...]


def _read_log(
    reader: Reader, directory: str, parse: Callable[[str, BatchId, bytes], T | Unparsed]
) -> _Log[T]:
    listing = reader.list(directory)
    paths = [info.path for info in listing.files]
    batches = sorted((batch, path) for path in paths if (batch := _batch_of(path)) is not None)
    sidecars = {
        f"{directory}/{parse_name(path).target}": path for path in _named(paths, Kind.SIDECAR)
    }
    contents = _read_newest(
        reader, listing, [path for _, path in reversed(batches)], sidecars=sidecars
    )
    entries = {
        batch: raw if isinstance(raw, Unparsed) else parse(path, batch, raw)
        for batch, path in batches
        if (raw := contents[path]) is not None
    }
    return _Log(
        entries=entries,
        leftovers=_named(paths, Kind.TEMP),
        lone_sidecars=tuple(path for target, path in sidecars.items() if target not in set(paths)),
        stale_sidecars=tuple(
            path
            for target, path in sidecars.items()
            if _is_stale(path, contents.get(path), contents.get(target))
        ),
        foreign=(
            *_named(paths, Kind.FOREIGN, Kind.COMPACT),
            *(f"{directory}/{name}" for name in listing.directories),
        ),
    )


def _with_late(
    reader: Reader,
    commits: Mapping[BatchId, CommitEntry | Unparsed],
    *,
    planned: Collection[BatchId],
) -> dict[BatchId, CommitEntry | Unparsed]:
    """Return the commits, and those written since for batches that are planned; lowest first."""
    found = dict(commits)
    for info in reader.list(COMMITS).files:
        batch = _batch_of(info.path)
        if batch is None or batch in found or batch not in planned:
            continue
        raw = read_whole(reader, info.path)
        if raw is not None:
            late = raw if isinstance(raw, Unparsed) else parse_commit_entry(info.path, batch, raw)
            found[batch] = late
    return dict(sorted(found.items()))


def _read_newest(
    reader: Reader, listing: Listing, paths: list[str], *, sidecars: Mapping[str, str]
) -> dict[str, bytes | Unparsed | None]:
    """Read entries with their checksums, newest first, as far as the memory for a log goes."""
    sizes = {info.path: info.size_bytes for info in listing.files}
    contents: dict[str, bytes | Unparsed | None] = {}
    wanted: list[str] = []
    room = LARGEST_LOG
    for path in paths:
        room -= sizes[path]
        if room < 0 and wanted:
            reason = f"it was not read: the log has more than {LARGEST_LOG >> 20} MB"
            contents[path] = Unparsed(path=path, reason=reason, unread=True)
            continue
        wanted += [path, *([sidecars[path]] if path in sidecars else [])]
    # A bucket answers in tens of milliseconds; a hundred entries one by one would take seconds.
    with ThreadPoolExecutor(READERS) as pool:
        found = pool.map(lambda path: read_whole(reader, path), wanted)
        contents.update(zip(wanted, found, strict=True))
    return contents


def _find_unlisted(root: Listing, below_state: Listing) -> Iterator[Unparsed]:
    """Name files and links that stand where Spark keeps directories: Spark follows a link."""
    names = [info.path for info in root.files if info.path in EXPECTED]
    files = [info.path for info in below_state.files]
    names += [path for path in files if parse_number(posixpath.basename(path)) is not None]
    for path in names:
        yield Unparsed(path=path, reason="it is a file or a link, not a directory", unread=True)


def _is_stale(
    path: str, sidecar: bytes | Unparsed | None, content: bytes | Unparsed | None
) -> bool:
    """Return whether a sidecar that was read does not fit the entry beside it."""
    if not isinstance(sidecar, bytes) or not isinstance(content, bytes):
        return False
    parsed = parse_sidecar(path, sidecar)
    return isinstance(parsed, Unparsed) or not parsed.fits(content)


def _batch_of(path: str) -> BatchId | None:
    name = parse_name(path)
    return name.batch_id if name.kind is Kind.ENTRY else None


def _named(paths: list[str], *kinds: Kind) -> tuple[str, ...]:
    return tuple(path for path in paths if parse_name(path).kind in kinds)
