from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from obstore.store import MemoryStore

from holdfast.errors import ReadError, WriteError
from holdfast.storage import Location, open_reader
from holdfast.storage.below import SubdirReader
from holdfast.storage.copying import (
    CopyRefusedError,
    Progress,
    copy_tree,
    list_tree,
)
from holdfast.storage.half_made import temp_name
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.overlay import OverlayWriter
from holdfast.storage.read import FileInfo, Reader
from holdfast.storage.write import Writer, open_writer
from holdfast.storage.write_objects import ObjectWriter

LARGE_BYTES = 1 << 20
PLACE = Location(scheme="s3", bucket="lake", path="cp")
FILES = {
    "metadata": b'{"id":"1"}',
    ".metadata.crc": b"crc",
    "offsets/0": b"v1\n",
    "offsets/.0.crc": b"crc",
    "offsets/10": b"v1\n10",
    "offsets-old": b"",
    "state/0/0/1.zip": bytes(LARGE_BYTES + 3),
    "state/0/0/ü b.delta": b"\x00\xff",
}
CHECKPOINT = [name for name in FILES if not name.startswith("state")]


def files_of(reader: Reader) -> dict[str, bytes | None]:
    return {info.path: reader.read(info.path) for info in reader.walk()}


def finish(source: Reader, target: Writer) -> Progress:
    *_, last = copy_tree(source, target)
    return last


@pytest.fixture(params=["memory", "disk", "bucket", "overlay"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    made: dict[str, Writer] = {
        "memory": MemoryStorage(),
        "disk": open_writer(str(tmp_path / "to")),
        "bucket": ObjectWriter(PLACE, MemoryStore()),
        "overlay": OverlayWriter(open_reader(str(tmp_path / "over"))),
    }
    return made[request.param]


@pytest.fixture(params=["memory", "disk", "bucket"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    made: dict[str, Writer] = {
        "memory": MemoryStorage(),
        "disk": open_writer(str(tmp_path / "from")),
        "bucket": ObjectWriter(dataclasses.replace(PLACE, path="from"), MemoryStore()),
    }
    for path, data in FILES.items():
        made[request.param].put(path, data)
    return made[request.param]


def test_every_file_is_copied_between_any_two_stores(source: Writer, target: Writer) -> None:
    done = finish(source, target)
    assert files_of(target) == FILES
    size_bytes = sum(map(len, FILES.values()))
    assert done == Progress(copied=8, bytes_copied=size_bytes, verified=8)


def test_what_is_there_is_not_copied_again(source: Writer, target: Writer) -> None:
    for path in ("offsets/0", "state/0/0/1.zip"):
        target.put(path, FILES[path])
    done = finish(source, target)
    assert (done.found_there, done.copied, done.verified) == (2, 6, 8)
    again = finish(source, target)
    assert again == Progress(found_there=8, verified=8)
    assert files_of(target) == FILES


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("offsets/0", b"v2\n"),
        ("offsets/0", b"longer than it was"),
        ("state/0/0/1.zip", bytes(LARGE_BYTES + 2) + b"\x01"),
        ("offsets/11", b"of another stream"),
    ],
)
def test_another_file_at_the_target_is_kept_and_refused(
    source: Writer, target: Writer, *, path: str, data: bytes
) -> None:
    """Before anything is copied."""
    target.put(path, data)
    with pytest.raises(CopyRefusedError) as refused:
        finish(source, target)
    assert refused.value.path == path
    assert str(target.location.join(path)) in refused.value.what
    assert files_of(target) == {path: data}


class Stops(MemoryStorage):
    """A store that takes some files and then no more."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        self.left -= 1
        if self.left < 0:
            raise WriteError(to, why="The disk is full.", how="Make room.")
        super().copy_from(source, path, to=to)


@pytest.mark.parametrize("files", range(len(FILES)))
def test_a_copy_that_was_cut_short_is_finished(files: int) -> None:
    target = Stops(files)
    with pytest.raises(WriteError, match="The disk is full"):
        finish(MemoryStorage(FILES), target)
    assert len(target.files) == files
    target.left = len(FILES)
    done = finish(MemoryStorage(FILES), target)
    assert (done.found_there, done.copied) == (files, len(FILES) - files)
    assert target.files == FILES


def test_what_a_kill_left_half_made_is_removed(source: Writer, target: Writer) -> None:
    target.put(f"offsets/{temp_name()}", b"v1")
    target.put("offsets/0", FILES["offsets/0"])
    assert finish(source, target).found_there == 1
    assert files_of(target) == FILES


def test_a_half_made_file_of_the_source_is_a_file() -> None:
    """It is copied like any other: the copy has the same listing."""
    name = f"offsets/{temp_name()}"
    target = MemoryStorage({name: b"1"})
    finish(MemoryStorage({**FILES, name: b"1"}), target)
    assert target.files == {**FILES, name: b"1"}


class Faulty(MemoryStorage):
    """A store that does something else than what it was asked for, with one file."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        super().copy_from(source, path, to=to)
        if path != "offsets/10":
            return
        if self.fault == "lost":
            del self.files[to]
        elif self.fault == "altered":
            self.files[to] = b"v1\n11"
        elif self.fault == "cut":
            self.files[to] = b"v1\n"
        elif self.fault == "more":
            self.files["offsets/11"] = b""


def test_of_a_directory_the_reader_below_is_asked() -> None:
    """It knows its own store, and can have it copy."""
    asked: list[object] = []

    class Asks(MemoryStorage):
        def copy_from(self, source: Reader, path: str, *, to: str) -> None:
            asked.append((source, path, to))
            super().copy_from(source, path, to=to)

    store, target = MemoryStorage({"a/b/c": b"1", "d": b"2"}), Asks()
    finish(SubdirReader(SubdirReader(store, "a"), "b"), target)
    assert asked == [(store, "a/b/c", "c")]
    assert target.files == {"c": b"1"}


@pytest.mark.parametrize("scheme", ["az", "s3", "gs", "memory"])
def test_a_copy_is_read_again_whatever_its_size(scheme: Any) -> None:
    """A store can answer before it has copied; and the original may be deleted next."""

    class Later(MemoryStorage):
        def copy_from(self, source: Reader, path: str, *, to: str) -> None:
            super().copy_from(source, path, to=to)
            self.files[to] = bytes(len(self.files[to]))

    target = Later()
    target.location = dataclasses.replace(PLACE, scheme=scheme)
    with pytest.raises(CopyRefusedError):
        finish(MemoryStorage({"state/1.zip": b"1" * 2 * LARGE_BYTES}), target)


@pytest.mark.parametrize(("one", "other"), [("a", "a/b"), ("a/b", "a"), ("a", "a")])
def test_a_directory_is_not_copied_into_itself(tmp_path: Path, one: str, other: str) -> None:
    source, target = (open_writer(str(tmp_path / each)) for each in (one, other))
    source.put("metadata", b"{}")
    with pytest.raises(CopyRefusedError, match="inside the other"):
        finish(source, target)
    assert [info.path for info in source.walk()] == ["metadata"]
    assert finish(source, open_writer(str(tmp_path / f"{one}.g2"))).copied == 1


@pytest.mark.parametrize("fault", ["lost", "altered", "cut", "more"])
def test_a_copy_that_is_not_the_same_is_found(fault: str) -> None:
    with pytest.raises(CopyRefusedError, match="not the same as the source") as refused:
        finish(MemoryStorage(FILES), Faulty(fault))
    assert refused.value.path == ("offsets/11" if fault == "more" else "offsets/10")


def test_a_source_that_changes_meanwhile_is_found() -> None:
    source, target = MemoryStorage(FILES), MemoryStorage()
    with pytest.raises(CopyRefusedError, match="has changed meanwhile"):  # noqa: PT012
        for progress in copy_tree(source, target, workers=1):
            if progress.copied == len(FILES) and not progress.verified:
                source.put("offsets/11", b"v1\n")


def test_whoever_stops_listening_leaves_complete_files() -> None:
    target = MemoryStorage()
    copying = copy_tree(MemoryStorage({f"{n:04}": b"1" for n in range(1000)}), target, workers=2)
    next(copying)
    assert isinstance(copying, Iterator)
    copying.close()  # type: ignore[attr-defined]
    assert 1 <= len(target.files) < 1000


class Tagged(MemoryStorage):
    """A store with the ETags of S3; what is read is counted."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        super().__init__(files)
        self.reads: list[str] = []

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        self.reads.append(path)
        return super().read(path, start=start, length=length)

    def _info(self, path: str) -> FileInfo:
        tag = hashlib.md5(self.files[path]).hexdigest()
        return replace(super()._info(path), etag=tag)


def test_content_that_s3_has_compared_is_not_read() -> None:
    source, target = Tagged(FILES), Tagged(FILES)
    assert finish(source, target).found_there == len(FILES)
    assert source.reads == target.reads == []
    target.put("offsets/0", b"v2\n")
    with pytest.raises(CopyRefusedError):
        finish(source, target)


PATHS = st.lists(
    st.text(alphabet="ab-/.0ü", min_size=1, max_size=8).filter(
        lambda path: all(part not in ("", ".", "..") for part in path.split("/"))
    ),
    unique=True,
)


@given(paths=PATHS)
def test_every_store_is_walked_in_the_order_of_paths(paths: list[str]) -> None:
    """Without a file that is also a directory, which a disk does not have."""
    names = [path for path in paths if not any(other.startswith(f"{path}/") for other in paths)]
    bucket, memory = ObjectWriter(PLACE, MemoryStore()), MemoryStorage()
    for name in names:
        bucket.put(name, b"1")
        memory.put(name, b"1")
    for reader in (bucket, memory, OverlayWriter(bucket)):
        assert [info.path for info in walk_in_order(reader)] == sorted(names)


def test_a_bucket_that_lists_without_order_is_an_error_or_listed_by_directory() -> None:
    class Unordered(MemoryStorage):
        def walk(self, directory: str = "") -> Iterator[FileInfo]:
            return iter(sorted(super().walk(directory), key=lambda info: info.path, reverse=True))

    store = Unordered(FILES)
    store.location = PLACE
    with pytest.raises(ReadError, match="not in order"):
        list_tree(store)
    store.location = dataclasses.replace(PLACE, bucket="lake--use1-az4--x-s3")
    assert list_tree(store).count == len(FILES)


def test_a_fingerprint_is_of_sorted_lines(tmp_path: Path) -> None:
    storage = open_writer(str(tmp_path))
    for path in CHECKPOINT:
        storage.put(path, FILES[path])
    infos = sorted(storage.walk(), key=lambda info: info.path)
    lines = [json.dumps([i.path, i.size_bytes, i.etag]) + "\n" for i in infos]
    tree = list_tree(storage)
    assert tree.fingerprint == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert (tree.count, tree.size_bytes) == (6, sum(len(FILES[path]) for path in CHECKPOINT))


@pytest.mark.parametrize("change", ["put", "delete", "add", "rename"])
def test_a_fingerprint_changes_with_any_file(source: Writer, change: str) -> None:
    before = list_tree(source)
    assert list_tree(source) == before
    if change == "put":
        source.put("offsets/0", b"v2\n")
    elif change == "add":
        source.put("commits/0", b"")
    else:
        source.delete("offsets/0")
    if change == "rename":
        source.put("offsets/1", FILES["offsets/0"])
    assert list_tree(source).fingerprint != before.fingerprint


def test_without_an_etag_the_time_is_in_the_fingerprint() -> None:
    class Plain(MemoryStorage):
        def _info(self, path: str) -> FileInfo:
            return replace(super()._info(path), etag=None)

    class Later(MemoryStorage):
        def _info(self, path: str) -> FileInfo:
            info = super()._info(path)
            return replace(info, etag=None, modified=info.modified.replace(year=1971))

    assert list_tree(Plain(FILES)).fingerprint != list_tree(Later(FILES)).fingerprint
