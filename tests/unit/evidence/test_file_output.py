"""What the log of a file sink tells: batches, holes, damage, and files that are elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from holdfast.checkpoint.file_sink import SinkLog
from holdfast.errors import ReadError
from holdfast.evidence.outputs import file_reader
from holdfast.evidence.outputs.file_reader import find_interval, read_file_output
from holdfast.evidence.outputs.files import FileOutput, SinkBatch
from holdfast.evidence.outputs.output import NotRead
from holdfast.ids import BatchId
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader
from holdfast.storage.read import Listing, Reader

HOME = "memory://memory"


def entry(name: str, *, home: str = HOME, ms: int = 1_000) -> str:
    path = f"{home}/{name}"
    return json.dumps({"path": path, "size": 9, "modificationTime": ms, "action": "add"})


def log_of(entries: Iterable[str]) -> bytes:
    return "\n".join(("v1", *entries)).encode()


def read(files: dict[str, bytes]) -> FileOutput:
    found = read_file_output(MemoryStorage(files), "the output")
    assert isinstance(found, FileOutput)
    return found


def test_a_healthy_log() -> None:
    found = read(
        {
            "_spark_metadata/9.compact": log_of(
                entry(f"part-{n}.json", ms=n) for n in range(1, 10)
            ),
            "_spark_metadata/10": log_of(
                [entry("part-10.json", ms=100), entry("p=1/x.json", ms=90)]
            ),
            "_spark_metadata/11": log_of([]),
            "_spark_metadata/.11.crc": b"",
            "part-9.json": b"{}",
            "part-10.json": b"{}",
            "p=1/x.json": b"{}",
        }
    )
    assert (found.newest, found.compact, found.interval) == (11, 9, 10)
    assert found.batches == (
        SinkBatch(batch=10, files=2, written_ms=100),
        SinkBatch(batch=11),
    )
    assert (found.first_ms, found.last_ms, found.files) == (1, 100, 11)
    assert (found.holes, found.unreadable, found.unread) == ((), (), ())
    assert (found.elsewhere, found.unlisted, found.looked) == (0, 0, 3)
    assert found.next_compaction(11) == 19


def test_without_a_log() -> None:
    empty = read({})
    assert (empty.has_log, empty.has_files, empty.newest) == (False, False, None)
    bare = read({"part-0.json": b"", "_spark_metadata/x": b"", "_SUCCESS": b""})
    assert (bare.has_log, bare.has_files) == (False, True)


def test_files_that_the_log_does_not_list() -> None:
    found = read(
        {
            "_spark_metadata/0": log_of([entry("part-0.json")]),
            "part-0.json": b"",
            "part-1.json": b"",
            "_temporary/part-2.json": b"",
            ".part-3.json.crc": b"",
        }
    )
    assert (found.unlisted, found.first_unlisted, found.looked) == (1, "part-1.json", 2)


@pytest.mark.parametrize(
    ("names", "holes"),
    [
        (["0", "1", "2"], ()),
        (["0", "2"], (1,)),
        (["5"], (0, 1, 2, 3, 4)),
        (["0", "1", "2.compact", "3", "5"], (4,)),
        (["2.compact", "4"], (3,)),
        (["0", "9000000000000000000"], tuple(range(1, 11))),
        (["0", "x", "1.bak", "01", "-2", "1"], ()),
    ],
)
def test_entries_that_are_missing(names: list[str], holes: tuple[int, ...]) -> None:
    assert read({f"_spark_metadata/{name}": b"v1" for name in names}).holes == holes


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"v9\n",
        b"v1\n{",
        b'v1\n{"path":"memory://memory/x","size":"9"}',
        b"v1\n\xff\xfe",
        b"v1\n[1]",
        b"\0\0\0",
    ],
)
@pytest.mark.parametrize("name", ["2.compact", "4"])
def test_an_entry_that_is_broken(raw: bytes, name: str) -> None:
    files = {f"_spark_metadata/{each}": b"v1" for each in ("2.compact", "3", "4")}
    found = read({**files, f"_spark_metadata/{name}": raw, "part-0.json": b""})
    assert [each.partition(":")[0] for each in found.unreadable] == [f"_spark_metadata/{name}"]
    assert found.newest == 4
    assert found.unlisted == 0


def test_a_broken_entry_below_the_compact_file_does_not_matter() -> None:
    found = read({"_spark_metadata/1": b"", "_spark_metadata/2.compact": b"v1"})
    assert found.unreadable == ()


@pytest.mark.parametrize("home", ["memory://other/out", "/out", "../..", "memory://memory/../x"])
def test_files_in_another_place(home: str) -> None:
    found = read({"_spark_metadata/0": log_of([entry("a.json", home=home), entry("b.json")])})
    is_known = not home.startswith("/")
    assert (found.elsewhere, found.files) == (int(is_known), 2)
    assert bool(found.first_elsewhere) is is_known


def test_a_directory_that_was_copied_and_one_behind_a_link(tmp_path: Path) -> None:
    for name in ("out", "copy"):
        log = tmp_path / name / "_spark_metadata"
        log.mkdir(parents=True)
        home = (tmp_path / "out").as_uri()
        (log / "0").write_bytes(log_of([entry("a%20b.json", home=home)]))
        (tmp_path / name / "a b.json").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    seen = {
        name: read_file_output(open_reader(str(tmp_path / name)), name)
        for name in ("out", "copy", "link")
    }
    counts = {
        name: (each.elsewhere, each.unlisted)
        for name, each in seen.items()
        if isinstance(each, FileOutput)
    }
    assert counts == {"out": (0, 0), "copy": (1, 1), "link": (0, 0)}


def test_credentials_and_hidden_characters_are_not_shown() -> None:
    log = log_of([entry("a\x1b[2J.json", home="memory://KEY:SECRET@lake/out"), entry("../\x07")])
    found = read({"_spark_metadata/0": log})
    assert "SECRET" not in repr(found)
    assert found.first_elsewhere.isprintable()


def test_a_compact_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reader, "LARGEST_READ", 100)
    found = read(
        {
            "_spark_metadata/9.compact": log_of(entry(f"part-{n}.json") for n in range(10)),
            "part-1.json": b"",
        }
    )
    assert found.compact_bytes > 100
    assert found.files == found.unlisted == 0
    assert len(found.unread) == 1


class Refusing(MemoryStorage):
    """A store that lets nothing be listed."""

    def list(self, directory: str = "") -> Listing:
        raise ReadError(directory, why="Access denied.", how="Ask.")


class Unreadable(MemoryStorage):
    """A store that lets nothing be read."""

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        raise ReadError(path, why="Access denied.", how=f"Ask for {start} {length}.")


def test_what_may_not_be_seen_is_not_read() -> None:
    store: Reader = Refusing({"_spark_metadata/0": b"v1"})
    found = read_file_output(store, "the output")
    assert found == NotRead(display_name="the output", why="Access denied.")
    partly = read_file_output(Unreadable({"_spark_metadata/0": b"v1"}), "the output")
    assert isinstance(partly, FileOutput)
    assert partly.unread == ("_spark_metadata/0: Access denied.",)
    assert partly.unreadable == ()


@pytest.mark.parametrize(
    ("compacts", "interval"),
    [
        ((), 10),
        ((9,), 10),
        ((9, 19), 10),
        ((2,), 3),
        ((2, 5), 3),
        ((99,), 10),
        ((14,), 15),
        ((21,), 11),
        ((32,), 11),
        ((19,), 20),
    ],
)
def test_how_often_spark_compacts(compacts: tuple[int, ...], interval: int) -> None:
    log = SinkLog(entries=(), compacts=tuple(map(BatchId, compacts)))
    assert find_interval(log) == interval


def test_a_number_that_no_batch_has_takes_no_time() -> None:
    log = SinkLog(entries=(), compacts=(BatchId(2**61 - 2),))
    assert find_interval(log) == 2**61 - 1  # a prime
