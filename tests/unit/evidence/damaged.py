"""Damaged copies of the archived checkpoints, in memory, and what is said of them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import PurePosixPath

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.cli.inspection import Inspection, inspect_checkpoint
from holdfast.errors import ReadError
from holdfast.evidence import NextStart, Refuses, Resumes, RunsAgain
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Listing
from tests.unit.checkpoint.archives import open_archive

Files = dict[str, bytes]
Damage = Callable[[Files], None]
Edit = Callable[[bytes], bytes]
Truth = int | str | tuple[str, int]
"""The batch that is run; the words of a refusal; the words of a failure and its batch."""


def damaged(archive: str, *damages: Damage) -> MemoryStorage:
    """Return a copy of an archived checkpoint to which some damage was done."""
    files = dict(open_archive(archive).checkpoint.files)
    for damage in damages:
        damage(files)
    return MemoryStorage(files)


def read(archive: str, *damages: Damage) -> Checkpoint:
    return read_checkpoint(damaged(archive, *damages))


def inspected(storage: MemoryStorage, *, state: bool = False) -> Inspection:
    return inspect_checkpoint(storage, state=state)


def opened(archive: str, *damages: Damage) -> NextStart:
    """Say what the next start does, after a look into every state file that it loads."""
    return inspected(damaged(archive, *damages), state=True).overview.next_start


def truth_of(found: NextStart) -> Truth | None:
    match found:
        case Resumes(batch_id=batch, then=None) | RunsAgain(batch_id=batch, then=None):
            return batch
        case Refuses(error=error, in_batch=None):
            return error
        case Refuses(error=error, in_batch=int(batch)):
            return error, batch
        case _:
            return None


def every(*damages: Damage) -> Damage:
    def damage(files: Files) -> None:
        for each in damages:
            each(files)

    return damage


def remove(*patterns: str, sidecars: bool = True) -> Damage:
    """Delete files, with their checksums unless somebody forgets them, or whole directories."""

    def damage(files: Files) -> None:
        for path in _find(files, *patterns):
            files.pop(path, None)
            if sidecars:
                files.pop(sidecar_of(path), None)

    return damage


def rewrite(pattern: str, edit: Edit, *, sidecars: bool = True) -> Damage:
    """Change files; their checksums go, as in a bucket, unless somebody forgets them."""

    def damage(files: Files) -> None:
        for path in _find(files, pattern):
            changed = edit(files[path])
            assert changed != files[path]
            files[path] = changed
            if sidecars:
                files.pop(sidecar_of(path), None)

    return damage


def write(path: str, content: bytes) -> Damage:
    return lambda files: files.update({path: content})


def copy(source: str, target: str) -> Damage:
    """Copy a directory."""

    def damage(files: Files) -> None:
        for path in _find(files, source):
            files[target + path.removeprefix(source)] = files[path]

    return damage


def on_table(snapshot: str, damage: Callable[[str], Damage]) -> Damage:
    """Damage the first table (SST) that a RocksDB snapshot names."""

    def on_its_table(files: Files) -> None:
        (path,) = _find(files, snapshot)
        with zipfile.ZipFile(BytesIO(files[path])) as archive:
            named = json.loads(archive.read("metadata").partition(b"\n")[2])["sstFiles"]
        home = PurePosixPath(path).parent
        damage(f"{home}/SSTs/{named[0]['dfsSstFileName']}")(files)

    return on_its_table


def empty(_: bytes) -> bytes:
    return b""


def halve(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def drop_last(raw: bytes) -> bytes:
    return raw[:-1]


def scramble(raw: bytes) -> bytes:
    """Return as many bytes that mean nothing."""
    return bytes(number * 37 % 256 for number in range(len(raw)))


def swap(old: str, new: str) -> Edit:
    return lambda raw: raw.replace(old.encode(), new.encode(), 1)


def on_line(number: int, new: str) -> Edit:
    def change(raw: bytes) -> bytes:
        lines = raw.decode().split("\n")
        lines[number] = new
        return "\n".join(lines).encode()

    return change


def sidecar_of(path: str) -> str:
    found = PurePosixPath(path)
    return str(found.with_name(f".{found.name}.crc"))


def _find(files: Files, *patterns: str) -> list[str]:
    matching = [path for path in files for each in patterns if _is_below(path, each)]
    assert matching, f"no {patterns}"
    return matching


def _is_below(path: str, pattern: str) -> bool:
    found, depth = PurePosixPath(path), len(PurePosixPath(pattern).parts)
    return PurePosixPath(*found.parts[:depth]).match(pattern) and len(found.parts) >= depth


class Forbidden(MemoryStorage):
    """A store that lists everything and does not let one file be read."""

    def __init__(self, files: Files, path: str) -> None:
        super().__init__(files)
        self._path = path

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        if path == self._path:
            raise ReadError(path, why="403", how="Ask.")
        return super().read(path, start=start, length=length)


class WithEmptyState(MemoryStorage):
    """A store that keeps `state/` when nothing is left in it, as a disk does."""

    def list(self, directory: str = "") -> Listing:
        found = super().list(directory)
        if directory or "state" in found.directories:
            return found
        return Listing(files=found.files, directories=(*found.directories, "state"))


# Which whole files are there decides what is loaded.
KINDS: dict[str, tuple[str, Damage]] = {
    "deltas": ("4.2-aggregation", remove("state/0/?/*.snapshot")),
    "snapshot": ("4.2-aggregation", remove("state/0/?/6.snapshot")),
    "zip": ("4.2-aggregation-rocksdb", every()),
    "changelog": ("4.2-aggregation-changelog", remove("state/0/?/[46].zip")),
    "format-2": ("4.2-aggregation-format-2", remove("state/0/?/6_*.zip")),
    "format-2-zip": ("4.2-aggregation-format-2-zip", every()),
    "two": ("4.2-two-operators", every()),
}
"""Archives whose next batch is 6, and which whole files are left in them."""
