"""Reads both logs of a checkpoint completely: every entry of `offsets` and of `commits`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.checksums import is_sidecar, is_stale
from holdfast.checkpoint.commits import CommitEntry, parse_commit_entry
from holdfast.checkpoint.layout import COMMITS, OFFSETS, Kind, parse_name
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.storage.read import Listing, Reader, answers_at_once

T = TypeVar("T")
Parse = Callable[[str, BatchId, bytes], T | Unparsed]
READERS = 16
LARGEST_LOG = 512 << 20
"""Entries beyond this are not read: a hundred entries of a million partitions have two GB."""


class Log(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One log: its entries, and what else lies beside them."""

    entries: Mapping[BatchId, T | Unparsed]
    """By batch, lowest first."""
    leftovers: tuple[str, ...]
    lone_sidecars: tuple[str, ...]
    stale_sidecars: tuple[str, ...]
    foreign: tuple[str, ...]
    directories: tuple[str, ...] = ()
    """Paths of directories in it: Spark keeps files only."""
    unverified: tuple[str, ...] = ()
    """Paths of entries without a usable checksum; known only when everything was read."""


class Logs(msgspec.Struct, frozen=True, kw_only=True):
    """Both logs."""

    offsets: Log[OffsetEntry]
    commits: Log[CommitEntry]
    first_read: BatchId | None = None
    """Entries of earlier batches were not looked at; None when all were."""


def read_logs(reader: Reader) -> Logs:
    """Read every entry of both logs.

    Raises:
        ReadError: A directory cannot be listed.
    """
    # Commits first: a batch that a running query finishes in between must not look committed and
    # never planned, which is the mark of deleted offset entries.
    commits = _read_log(reader, COMMITS, parse_commit_entry)
    offsets = _read_log(reader, OFFSETS, parse_offset_entry)
    late = [
        batch
        for info in reader.list(COMMITS).files
        if (batch := batch_of(info.path)) is not None
        and batch not in commits.entries
        and batch in offsets.entries
    ]
    return Logs(offsets=offsets, commits=with_late(reader, commits, late))


def with_late(
    reader: Reader, commits: Log[CommitEntry], batches: Collection[BatchId]
) -> Log[CommitEntry]:
    """Return the commits, and those of batches that were written since, lowest first."""
    found = {**commits.entries, **read_entries(reader, COMMITS, batches, parse=parse_commit_entry)}
    return replace(commits, entries=dict(sorted(found.items())))


def read_entries(
    reader: Reader, directory: str, batches: Collection[BatchId], *, parse: Parse[T]
) -> dict[BatchId, T | Unparsed]:
    """Read the entries of these batches, side by side; those that are not there are left out."""
    paths = {batch: f"{directory}/{batch}" for batch in batches}
    contents = _read_side_by_side(reader, list(paths.values()))
    return {
        batch: raw if isinstance(raw, Unparsed) else parse(path, batch, raw)
        for batch, path in paths.items()
        if (raw := contents[path]) is not None
    }


def batch_of(path: str) -> BatchId | None:
    """Return the batch of an entry; None when a file is none."""
    name = parse_name(path)
    return name.batch_id if name.kind is Kind.ENTRY else None


def named(paths: Collection[str], *kinds: Kind) -> tuple[str, ...]:
    """Return the paths of some kinds."""
    return tuple(path for path in paths if parse_name(path).kind in kinds)


def _read_log(reader: Reader, directory: str, parse: Parse[T]) -> Log[T]:
    listing = reader.list(directory)
    paths = [info.path for info in listing.files]
    batches = sorted((batch, path) for path in paths if (batch := batch_of(path)) is not None)
    sidecars = {
        f"{directory}/{parse_name(path).target}": path for path in named(paths, Kind.SIDECAR)
    }
    contents = _read_newest(
        reader, listing, [path for _, path in reversed(batches)], sidecars=sidecars
    )
    entries = {
        batch: raw if isinstance(raw, Unparsed) else parse(path, batch, raw)
        for batch, path in batches
        if (raw := contents[path]) is not None
    }
    directories = tuple(f"{directory}/{name}" for name in listing.directories)
    return Log(
        entries=entries,
        leftovers=named(paths, Kind.TEMP),
        lone_sidecars=tuple(path for target, path in sidecars.items() if target not in set(paths)),
        stale_sidecars=tuple(
            path
            for target, path in sidecars.items()
            if is_stale(
                path,
                contents.get(path),
                contents.get(target),
                parse=lambda raw: parse("", BatchId(0), raw),
            )
        ),
        foreign=(*named(paths, Kind.FOREIGN, Kind.COMPACT), *directories),
        directories=directories,
        unverified=tuple(
            path
            for _, path in batches
            if not is_sidecar(path, contents.get(sidecars.get(path, "")))
        ),
    )


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
    return contents | _read_side_by_side(reader, wanted)


def _read_side_by_side(reader: Reader, paths: list[str]) -> dict[str, bytes | Unparsed | None]:
    if answers_at_once(reader):  # starting threads takes longer than reading
        return {path: read_whole(reader, path) for path in paths}
    # A bucket answers in tens of milliseconds; a hundred entries one by one would take seconds.
    with ThreadPoolExecutor(READERS) as pool:
        found = pool.map(lambda path: read_whole(reader, path), paths)
        return dict(zip(paths, found, strict=True))
