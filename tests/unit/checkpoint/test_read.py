from __future__ import annotations

import pytest

from holdfast.checkpoint import Unparsed, read_checkpoint
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.errors import ReadError
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Listing

ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n{"logOffset":%d}'
TEMP = ".42.3b1e0000-0000-4000-8000-000000000000.tmp"


@pytest.mark.parametrize(
    ("name", "kind", "batch", "target"),
    [
        ("41", Kind.ENTRY, 41, None),
        ("9.compact", Kind.COMPACT, 9, None),
        (TEMP, Kind.TEMP, None, "42"),
        (TEMP.replace(".tmp", ".TID159.tmp"), Kind.TEMP, None, "42"),
        (".41.crc", Kind.SIDECAR, None, "41"),
        ("8.bak", Kind.FOREIGN, None, None),
        ("-1", Kind.FOREIGN, None, None),
        ("9" * 19, Kind.FOREIGN, None, None),
        ("41 ", Kind.FOREIGN, None, None),
        ("٣", Kind.FOREIGN, None, None),
    ],
)
def test_a_name_says_what_a_file_is(
    name: str, *, kind: Kind, batch: int | None, target: str | None
) -> None:
    found = parse_name(f"offsets/{name}")
    assert (found.kind, found.batch_id, found.target) == (kind, batch, target)


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage(
        {
            "metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}',
            ".metadata.crc": b"crc\0",
            "offsets/9": ENTRY % 9,
            "offsets/10": ENTRY % 10,
            "offsets/.10.crc": b"crc\0",
            "offsets/.11.crc": b"crc\0",
            f"offsets/{TEMP}": b"",
            "offsets/8.bak": b"",
            "commits/9": b"v1\n{}",
            "commits/10": b"",
            "sources/0/0": b"v1\n",
            "state/0/0/1.delta": b"",
            "notes.txt": b"",
            "backup/offsets/1": b"",
        }
    )


def test_entries_are_in_order_of_their_numbers(storage: MemoryStorage) -> None:
    checkpoint = read_checkpoint(storage)
    assert list(checkpoint.offsets) == [9, 10]
    assert list(checkpoint.commits) == [9, 10]


def test_what_is_not_an_entry_is_named_for_what_it_is(storage: MemoryStorage) -> None:
    checkpoint = read_checkpoint(storage)
    assert checkpoint.leftovers == (f"offsets/{TEMP}",)
    assert checkpoint.lone_sidecars == ("offsets/.11.crc",)
    assert checkpoint.foreign == ("notes.txt", "backup", "offsets/8.bak")
    assert [source.name for source in checkpoint.sources] == ["0"]
    assert [operator.operator_id for operator in checkpoint.state] == [0]


def test_what_was_not_understood_is_listed(storage: MemoryStorage) -> None:
    empty = Unparsed(path="commits/10", reason="the file is empty")
    assert read_checkpoint(storage).unparsed == (empty,)


def test_an_empty_directory_is_a_checkpoint_with_nothing_in_it() -> None:
    checkpoint = read_checkpoint(MemoryStorage())
    assert checkpoint.metadata is None
    assert (checkpoint.offsets, checkpoint.commits, checkpoint.unparsed) == ({}, {}, ())


class Flaky(MemoryStorage):
    """A store in which one entry is gone when it is read, and another may not be read."""

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        if path == "offsets/9":
            return None
        if path == "metadata":
            raise ReadError(path, why="The store answered: 403.", how="Ask.")
        return super().read(path, start=start, length=length)


def test_an_entry_purged_meanwhile_is_left_out_and_one_that_may_not_be_read_is_not(
    storage: MemoryStorage,
) -> None:
    checkpoint = read_checkpoint(Flaky(storage.files))
    assert list(checkpoint.offsets) == [10]
    assert checkpoint.metadata == Unparsed(
        path="metadata", reason="it could not be read: The store answered: 403.", unread=True
    )


class Running(MemoryStorage):
    """A store in which the query runs a whole batch after each log has been listed."""

    def list(self, directory: str = "") -> Listing:
        listing = super().list(directory)
        if directory in ("offsets", "commits"):
            batch = sum(path.startswith("commits/") for path in self.files)
            self.files |= {f"offsets/{batch}": ENTRY % batch, f"commits/{batch}": b"v1\n{}"}
        return listing


def test_a_batch_finished_meanwhile_never_looks_committed_and_not_planned() -> None:
    files = {"offsets/0": ENTRY % 0, "commits/0": b"v1\n{}"}
    checkpoint = read_checkpoint(Running(files))
    assert checkpoint.commits.keys() <= checkpoint.offsets.keys()
