"""The files whose values decide what the next start does, besides those that hold state."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES
from holdfast.checkpoint.read import Checkpoint
from holdfast.sources.kind import Offset
from holdfast.sources.registry import began_of


def changed_files(checkpoint: Checkpoint) -> Iterator[tuple[str, str]]:
    """Yield every file that does not fit Hadoop's checksum beside it, with that checksum.

    A checksum that has not Hadoop's form is damaged itself, and tells nothing of its file.
    """
    for sidecar in checkpoint.stale_sidecars:
        log, _, name = sidecar.rpartition("/")
        changed = name.removeprefix(".").removesuffix(".crc")
        path = f"{log}/{changed}" if log else changed
        if path not in checkpoint.unverified:
            yield path, sidecar


def is_log_entry(path: str) -> bool:
    """Return whether a file is an entry of `offsets` or `commits`."""
    return path.startswith((f"{OFFSETS}/", f"{COMMITS}/"))


def decides_start(checkpoint: Checkpoint, path: str) -> bool:
    """Return whether the values in a log entry, or in a file that describes, decide on a start.

    The offset entry before the newest one says where a pending batch begins, and nothing else.
    """
    log, _, name = path.rpartition("/")
    if log in (OFFSETS, COMMITS):
        return name in _newest_names(checkpoint, log)
    if log.startswith(f"{SOURCES}/"):
        return _is_source_read(checkpoint, log.partition("/")[2], name)
    return path == METADATA or "/_metadata" in path or "/_stateSchema" in path


def unverified_files(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Name the files whose values decide what a start does, and which no checksum vouches for.

    `metadata` is not among them: repairs write it, and it is checked by its form.
    """
    if not checkpoint.keeps_checksums:
        return ()  # as in a store of objects: none of its files has one
    return tuple(
        path
        for path in checkpoint.unverified
        if path != METADATA and decides_start(checkpoint, path)
    )


def _newest_names(checkpoint: Checkpoint, log: str) -> tuple[str, ...]:
    if log == COMMITS:
        return (str(max(checkpoint.commits, default=-1)),)
    newest = max(checkpoint.offsets, default=-1)
    is_pending = newest > max(checkpoint.commits, default=-1)
    return (str(newest), str(newest - 1)) if is_pending else (str(newest),)


def _is_source_read(checkpoint: Checkpoint, source: str, name: str) -> bool:
    """Return whether a file of a source's log is above its newest compact file, or is that."""
    log = next((each for each in checkpoint.sources if each.name == source), None)
    if log is None:
        return False
    if isinstance(began_of(log), Offset) and checkpoint.commits:
        return False  # it says where batch 0 began
    newest = max(log.compacts, default=-1)
    return name == f"{newest}.compact" or (name.isdecimal() and int(name) > newest)
