"""Reads a checkpoint: what is there, not whether it is good.

Files that cannot be understood, or may not be read, stay in the result as `Unparsed`. A running
query adds and purges entries meanwhile: one that was listed and is gone when read is left out.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.checksums import is_sidecar, is_stale, sidecar_of
from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import (
    COMMITS,
    METADATA,
    OFFSETS,
    SOURCES,
    STATE,
    Kind,
    parse_number,
)
from holdfast.checkpoint.logs import Logs, named, read_logs
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.near_logs import add_commits, read_logs_near, read_logs_tail
from holdfast.checkpoint.offsets import PARTITIONS, OffsetEntry
from holdfast.checkpoint.sources.near import read_sources_near
from holdfast.checkpoint.sources.read import SourceLog, read_sources
from holdfast.checkpoint.state.bounded import BoundedState, read_state_bounded
from holdfast.checkpoint.state.read import Operator, read_state
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.errors import ReadError
from holdfast.ids import BatchId
from holdfast.storage.location import Location
from holdfast.storage.read import Listing, Reader

EXPECTED = frozenset({COMMITS, OFFSETS, SOURCES, STATE})
NOTHING = Listing(files=(), directories=())


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
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
    """Hadoop's checksums of entries that were deleted without them."""
    stale_sidecars: tuple[str, ...]
    """Hadoop's checksums that do not fit their entry: it was changed after Spark wrote it."""
    foreign: tuple[str, ...]
    """Files and directories that Spark does not write there."""
    log_directories: tuple[str, ...] = ()
    """Directories in `offsets` and `commits`, where Spark keeps files only."""
    unverified: tuple[str, ...] = ()
    """Files without a usable checksum beside them; not known where only the newest were read."""
    keeps_checksums: bool = False
    """Whether some log entries have a usable checksum beside them."""
    unlisted: tuple[Unparsed, ...] = ()
    """Where a directory should be and a file or a link is: what Spark would find is not known."""
    first_read: BatchId | None = None
    """Log entries of earlier batches were not looked at; None when all were."""
    state_unread: str | None = None
    """Why the files of the state were not looked at, so that no operator has stores; None when
    they were."""
    is_file: bool = False
    """Whether the location is a file, so that there is no directory to read."""

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
    found = _begin(reader)
    logs = read_logs(reader)
    sources = read_sources(reader) if SOURCES in found.root.directories else ()
    operators = read_state(reader, found.below_state.directories)
    state = BoundedState(operators=operators, unread=None)
    checkpoint = _put_together(reader, found, logs, sources=sources, state=state)
    checkpoint = _verify_metadata(reader, found.root, checkpoint)
    return replace(checkpoint, is_file=_is_file(reader)) if found.is_nothing else checkpoint


def read_checkpoint_near(
    reader: Reader, near: BatchId | None, *, is_shallow: bool = False
) -> Checkpoint:
    """Read what a start needs of the checkpoint, in a bounded number of requests.

    It does not grow with the batches kept, nor with the files of the state: entries of earlier
    batches are not read, and state is looked at only where few directories hold it.

    Args:
        reader: Of the checkpoint.
        near: The newest batch that is known of, as a ledger tells it; None when nothing tells. Then
            the logs are listed.
        is_shallow: Whether only the newest entries are read, of damaged logs and source logs too.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    found = _begin(reader)
    logs = read_logs_near(reader, near, otherwise=read_logs_tail if is_shallow else read_logs)
    newest = _newest(logs)
    sources: tuple[SourceLog, ...] = ()
    pinned = None
    if newest is not None and SOURCES in found.root.directories:
        sources = read_sources_near(reader, newest, is_shallow=is_shallow)
    if newest is not None and newest.metadata is not None:
        pinned = parse_number(newest.metadata.conf.get(PARTITIONS, ""))
    state = read_state_bounded(reader, found.below_state.directories, partitions=pinned)
    first = state.first_commit
    if logs.first_read is not None and first is not None:
        logs = add_commits(reader, logs, first)
    return _put_together(reader, found, logs, sources=sources, state=state)


def read_logs_again(reader: Reader, before: Checkpoint) -> Checkpoint:
    """Return a checkpoint with its newest log entries as they are now, and the rest as before.

    Raises:
        ReadError: A directory cannot be listed.
    """
    logs = read_logs_near(reader, max(before.offsets, default=None))
    return replace(
        before,
        offsets=logs.offsets.entries,
        commits=logs.commits.entries,
        lone_sidecars=_of((logs.offsets, logs.commits), name="lone_sidecars"),
        log_directories=_of((logs.offsets, logs.commits), name="directories"),
        first_read=logs.first_read,
    )


def _newest(logs: Logs) -> OffsetEntry | None:
    """Return the newest offset entry that was understood."""
    entries = [each for each in logs.offsets.entries.values() if isinstance(each, OffsetEntry)]
    return entries[-1] if entries else None


class _Begun(msgspec.Struct, frozen=True, kw_only=True):
    """What is listed first."""

    root: Listing
    below_state: Listing

    @property
    def is_nothing(self) -> bool:
        """Whether the location has nothing in it: it may be missing, or a file."""
        return not self.root.files and not self.root.directories


def _begin(reader: Reader) -> _Begun:
    root = reader.list()
    return _Begun(
        root=root, below_state=reader.list(STATE) if STATE in root.directories else NOTHING
    )


def _is_file(reader: Reader) -> bool:
    """Return whether the location itself is a file; False where the rights do not reach that far.

    Rights to list and read below a prefix are enough for everything else.
    """
    try:
        return bool(reader.location.path) and reader.stat("") is not None
    except ReadError:
        return False


def _put_together(
    reader: Reader,
    found: _Begun,
    logs: Logs,
    *,
    sources: tuple[SourceLog, ...],
    state: BoundedState,
) -> Checkpoint:
    metadata = read_whole(reader, METADATA)
    unlisted = tuple(_find_unlisted(found))
    blocked = {each.path for each in unlisted}
    top = [info.path for info in found.root.files if info.path not in (METADATA, *blocked)]
    both = (logs.offsets, logs.commits)
    return Checkpoint(
        location=reader.location,
        metadata=parse_metadata(METADATA, metadata) if isinstance(metadata, bytes) else metadata,
        offsets=logs.offsets.entries,
        commits=logs.commits.entries,
        directories=EXPECTED.intersection(found.root.directories),
        sources=sources,
        state=state.operators,
        leftovers=(*named(top, Kind.TEMP), *_of(both, sources, state.operators, name="leftovers")),
        lone_sidecars=_of(both, name="lone_sidecars"),
        stale_sidecars=_of(both, sources, state.operators, name="stale_sidecars"),
        log_directories=_of(both, name="directories"),
        unverified=_of(both, sources, state.operators, name="unverified"),
        keeps_checksums=any(len(log.unverified) < len(log.entries) for log in both),
        unlisted=unlisted,
        foreign=(
            *named(top, Kind.FOREIGN, Kind.ENTRY, Kind.COMPACT),
            *(name for name in found.root.directories if name not in EXPECTED),
            *_of(both, state.operators, name="foreign"),
            *(info.path for info in found.below_state.files if info.path not in blocked),
        ),
        first_read=logs.first_read,
        state_unread=state.unread,
    )


def _verify_metadata(reader: Reader, root: Listing, checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint with what Hadoop's checksum says of `metadata`."""
    sidecar = sidecar_of(METADATA)
    if all(info.path != sidecar for info in root.files):
        return checkpoint
    raw, content = read_whole(reader, sidecar), read_whole(reader, METADATA)
    if not is_stale(sidecar, raw, content, parse=lambda each: parse_metadata("", each)):
        return checkpoint
    unusable = () if is_sidecar(sidecar, raw) else (METADATA,)
    return replace(
        checkpoint,
        stale_sidecars=(sidecar, *checkpoint.stale_sidecars),
        unverified=(*unusable, *checkpoint.unverified),
    )


def _of(*parts: tuple[object, ...], name: str) -> tuple[str, ...]:
    """Return the paths that every part lists under a name."""
    return tuple(path for part in parts for each in part for path in getattr(each, name))


def _find_unlisted(found: _Begun) -> Iterator[Unparsed]:
    """Name files and links that stand where Spark keeps directories: Spark follows a link."""
    names = [info.path for info in found.root.files if info.path in EXPECTED]
    files = [info.path for info in found.below_state.files]
    names += [path for path in files if parse_number(posixpath.basename(path)) is not None]
    for path in names:
        yield Unparsed(path=path, reason="it is a file or a link, not a directory", unread=True)
