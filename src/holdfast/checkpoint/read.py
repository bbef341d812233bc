"""Reads the logs of a checkpoint: what is there, not whether it is good.

Files that cannot be understood, or may not be read, stay in the result as `Unparsed`. A running
query adds and purges entries meanwhile: one that was listed and is gone when read is left out.
State is not read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from holdfast.checkpoint.commits import CommitEntry, parse_commit_entry
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE, Kind, parse_name
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import ReadError
from holdfast.ids import BatchId
from holdfast.storage.location import Location
from holdfast.storage.read import Reader

T = TypeVar("T")
READERS = 16
EXPECTED = frozenset({COMMITS, OFFSETS, SOURCES, STATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The logs of a checkpoint."""

    location: Location
    metadata: QueryMetadata | Unparsed | None
    """None when there is no such file."""
    offsets: Mapping[BatchId, OffsetEntry | Unparsed]
    """By batch, lowest first."""
    commits: Mapping[BatchId, CommitEntry | Unparsed]
    """By batch, lowest first."""
    source_directories: tuple[str, ...]
    """Names below `sources/`."""
    has_state: bool
    leftovers: tuple[str, ...]
    """Temp files of writers that were stopped, in the directories of the logs."""
    lone_sidecars: tuple[str, ...]
    """Hadoop's checksums of entries that are not there: deleted by hand, and these forgotten."""
    foreign: tuple[str, ...]
    """Files and directories that Spark does not write there."""

    @property
    def unparsed(self) -> tuple[Unparsed, ...]:
        """Everything that is there and was not understood."""
        entries = [self.metadata, *self.offsets.values(), *self.commits.values()]
        return tuple(entry for entry in entries if isinstance(entry, Unparsed))


def read_checkpoint(reader: Reader) -> Checkpoint:
    """Read the logs of the checkpoint at the reader's location.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    root = reader.list()
    # Commits first: a batch that a running query finishes in between must not look committed and
    # never planned, which is the mark of deleted offset entries.
    commits = _read_log(reader, COMMITS, parse_commit_entry)
    offsets = _read_log(reader, OFFSETS, parse_offset_entry)
    metadata = _read(reader, METADATA)
    top = [info.path for info in root.files if info.path != METADATA]
    return Checkpoint(
        location=reader.location,
        metadata=parse_metadata(METADATA, metadata) if isinstance(metadata, bytes) else metadata,
        offsets=offsets.entries,
        commits=commits.entries,
        source_directories=reader.list(SOURCES).directories if SOURCES in root.directories else (),
        has_state=STATE in root.directories,
        leftovers=(*_named(top, Kind.TEMP), *offsets.leftovers, *commits.leftovers),
        lone_sidecars=(*offsets.lone_sidecars, *commits.lone_sidecars),
        foreign=(
            *_named(top, Kind.FOREIGN, Kind.ENTRY, Kind.COMPACT),
            *(name for name in root.directories if name not in EXPECTED),
            *offsets.foreign,
            *commits.foreign,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log(Generic[T]):
    entries: dict[BatchId, T | Unparsed]
    leftovers: tuple[str, ...]
    lone_sidecars: tuple[str, ...]
    foreign: tuple[str, ...]


def _read_log(
    reader: Reader, directory: str, parse: Callable[[str, BatchId, bytes], T | Unparsed]
) -> _Log[T]:
    listing = reader.list(directory)
    paths = [info.path for info in listing.files]
    there = set(paths)
    batches = sorted((batch, path) for path in paths if (batch := _batch_of(path)) is not None)
    # A bucket answers in tens of milliseconds; a hundred entries one by one would take seconds.
    with ThreadPoolExecutor(READERS) as pool:
        contents = list(pool.map(lambda entry: _read(reader, entry[1]), batches))
    entries = {
        batch: raw if isinstance(raw, Unparsed) else parse(path, batch, raw)
        for (batch, path), raw in zip(batches, contents, strict=True)
        if raw is not None
    }
    return _Log(
        entries=entries,
        leftovers=_named(paths, Kind.TEMP),
        lone_sidecars=tuple(
            path
            for path in _named(paths, Kind.SIDECAR)
            if f"{directory}/{parse_name(path).target}" not in there
        ),
        foreign=(
            *_named(paths, Kind.FOREIGN, Kind.COMPACT),
            *(f"{directory}/{name}" for name in listing.directories),
        ),
    )


def _batch_of(path: str) -> BatchId | None:
    name = parse_name(path)
    return name.batch_id if name.kind is Kind.ENTRY else None


def _read(reader: Reader, path: str) -> bytes | Unparsed | None:
    try:
        return reader.read(path)
    except ReadError as error:
        return Unparsed(path=path, reason=f"it could not be read: {error.why}", unread=True)


def _named(paths: list[str], *kinds: Kind) -> tuple[str, ...]:
    return tuple(path for path in paths if parse_name(path).kind in kinds)
