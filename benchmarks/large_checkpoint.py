"""A checkpoint as large as one wants, made of the files of a small one that real Spark wrote."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path

from holdfast.storage.location import Location
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, WalkPage, cut_page

ARCHIVES = Path(__file__).parents[1] / "tests/checkpoints"
BATCHES = 100
SNAPSHOT_EVERY = 10

_PLACE = "checkpoint/"
_STORES = "state/0"
_MODIFIED = datetime(2026, 11, 14, tzinfo=UTC)


def unpack(name: str, directory: Path) -> Path:
    """Unpack a checkpoint of the tests and return where it is."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory / _PLACE


def read_archive(name: str) -> dict[str, bytes]:
    """Return the files of a checkpoint of the tests, by their path in it."""
    files = {}
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.name.startswith(_PLACE):
                files[member.name.removeprefix(_PLACE)] = content.read()
    return files


@dataclass(frozen=True)
class LargeCheckpoint:
    """100 batches of an aggregation, with the state of each in as many partitions as asked."""

    partitions: int

    @cached_property
    def logs(self) -> dict[str, bytes]:
        """Everything but deltas and snapshots."""
        small = read_archive("4.2-aggregation")
        batches = range(BATCHES)
        partitions = f'"numPartitions":{self.partitions}'.encode()
        metadata = small[f"{_STORES}/_metadata/metadata"]
        return {
            "metadata": small["metadata"],
            **{f"offsets/{batch}": small["offsets/5"] for batch in batches},
            **{f"commits/{batch}": small["commits/5"] for batch in batches},
            f"{_STORES}/_metadata/metadata": metadata.replace(b'"numPartitions":2', partitions),
            f"{_STORES}/0/_metadata/schema": small[f"{_STORES}/0/_metadata/schema"],
        }

    @cached_property
    def store(self) -> dict[str, bytes]:
        """The files of one partition's store, by name: a delta per batch, some snapshots."""
        small = read_archive("4.2-aggregation")
        versions = range(1, BATCHES + 1)
        snapshots = range(SNAPSHOT_EVERY, BATCHES, SNAPSHOT_EVERY)
        return {
            **{f"{version}.delta": small[f"{_STORES}/0/5.delta"] for version in versions},
            **{f"{version}.snapshot": small[f"{_STORES}/0/6.snapshot"] for version in snapshots},
        }

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield every file, by path."""
        yield from self.logs.items()
        for partition in range(self.partitions):
            yield from self.store_files(f"{_STORES}/{partition}")

    def store_files(self, directory: str) -> Iterator[tuple[str, bytes]]:
        """Yield the deltas and snapshots in a directory, by path; none when it is no store's."""
        if self.is_store(directory):
            for name, content in self.store.items():
                yield f"{directory}/{name}", content

    def is_store(self, directory: str) -> bool:
        """Say whether a directory is that of a partition's store."""
        parent, _, name = directory.rpartition("/")
        return parent == _STORES and name.isdecimal() and int(name) < self.partitions

    def __len__(self) -> int:
        return len(self.logs) + self.partitions * len(self.store)


class GeneratedReader:
    """Reads a large checkpoint that is nowhere: what is listed is made while it is listed."""

    def __init__(self, checkpoint: LargeCheckpoint) -> None:
        self.location = Location(scheme="memory", bucket="generated")
        self._checkpoint = checkpoint

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory."""
        prefix = f"{directory}/" if directory else ""
        logs = [path for path in self._checkpoint.logs if path.startswith(prefix)]
        names = [path.removeprefix(prefix) for path in logs]
        directories = {name.split("/")[0] for name in names if "/" in name}
        if directory == _STORES:
            directories |= set(map(str, range(self._checkpoint.partitions)))
        files = [prefix + name for name in names if "/" not in name]
        files += [path for path, _ in self._checkpoint.store_files(directory)]
        return Listing(
            files=tuple(self._info(path) for path in sorted(files)),
            directories=tuple(sorted(directories)),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        listing = self.list(directory)
        files = {info.path.rpartition("/")[2]: info for info in listing.files}
        names, next_after = cut_page([*files, *(f"{each}/" for each in listing.directories)], after)
        return Page(
            files=tuple(files[name] for name in names if name in files),
            directories=tuple(name[:-1] for name in names if name not in files),
            next_after=next_after,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        prefix = f"{directory}/" if directory else ""
        everywhere = f"{_STORES}/".startswith(prefix)
        logs = self._checkpoint.logs.items()
        inside = self._checkpoint.store_files(directory)
        for path, content in self._checkpoint.files() if everywhere else chain(logs, inside):
            if path.startswith(prefix):
                yield _describe(path, content)

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        inside = sorted(
            (info for info in self.walk(directory) if info.path > after), key=lambda info: info.path
        )
        return WalkPage(files=tuple(inside[:PAGE_ENTRIES]), is_last=len(inside) < PAGE_ENTRIES)

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        return None if self.read(path) is None else self._info(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        directory, _, name = path.rpartition("/")
        content = self._checkpoint.logs.get(path)
        if content is None and self._checkpoint.is_store(directory):
            content = self._checkpoint.store.get(name)
        if content is None:
            return None
        return content[start:] if length is None else content[start : start + length]

    def _info(self, path: str) -> FileInfo:
        return _describe(path, self.read(path) or b"")


def _describe(path: str, content: bytes) -> FileInfo:
    return FileInfo(path=path, size_bytes=len(content), modified=_MODIFIED, etag="generated")
