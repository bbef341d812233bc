"""What a probe of a file source finds: gone, changed, too old, hostile, and what it costs."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.checkpoint.sources.read import read_sources
from holdfast.errors import ReadError
from holdfast.sources.files import listing as file_listing
from holdfast.sources.files import scan as file_scan
from holdfast.sources.files.found import FileSource
from holdfast.sources.files.probe import probe_files
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.storage.local import LocalReader
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader
from holdfast.storage.read import FileInfo, Reader

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
DAY_MS = 86_400_000
OFFSET = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'


def entry(path: str, number: int, *, ms: int = NOW_MS) -> str:
    return json.dumps({"path": path, "timestamp": ms, "batchId": number})


def log_of(entries: Iterable[str]) -> bytes:
    return "\n".join(("v1", *entries)).encode()


def checkpoint_of(*logs: bytes, committed: int | None = None) -> MemoryStorage:
    """Return a checkpoint of one batch per file of the source's log; all committed by default."""
    done = len(logs) - 1 if committed is None else committed
    files = {f"sources/0/{number}": raw for number, raw in enumerate(logs)}
    for number in range(len(logs)):
        files[f"offsets/{number}"] = f'v1\n{OFFSET}\n{{"logOffset":{number}}}'.encode()
    files |= {f"commits/{number}": b"v1\n{}" for number in range(done + 1)}
    return MemoryStorage(files)


def probe(checkpoint: Reader, open_at: object = open_reader) -> SourceProbe:
    [log] = read_sources(checkpoint)
    return probe_files(log, checkpoint, open_at, now=NOW)  # type: ignore[arg-type]


def found_of(checkpoint: Reader, open_at: object = open_reader) -> FileSource:
    found = probe(checkpoint, open_at).found
    assert isinstance(found, FileSource), found
    return found


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    directory = tmp_path / "in"
    directory.mkdir()
    for name in ("a.json", "b.json", "c d%.json"):
        write(directory / name)
    return directory


def write(path: Path, ms: int = NOW_MS) -> None:
    path.write_text("{}")
    os.utime(path, (ms / 1000, ms / 1000))


def test_all_is_there(inputs: Path) -> None:
    home = inputs.as_uri()
    checkpoint = checkpoint_of(
        log_of([entry(f"{home}/a.json", 0)]),
        log_of([entry(f"{home}/b.json", 1), entry(f"{home}/c%20d%25.json", 1)]),
    )
    probed = probe(checkpoint)
    found = probed.found
    assert isinstance(found, FileSource)
    assert probed.display_name == f"files in {home}"
    assert probed.lossless_for is None
    assert (found.logged, found.read.looked, found.read.gone, found.read.changed) == (3, 3, 0, 0)
    assert found.pending.files == found.listed.waiting == found.listed.too_old == 0
    assert found.roots == ("file://",)
    assert found.last_directory == home


def test_files_of_a_pending_batch_are_gone(inputs: Path) -> None:
    home = inputs.as_uri()
    checkpoint = checkpoint_of(
        log_of([entry(f"{home}/a.json", 0)]),
        log_of([entry(f"{home}/b.json", 1), entry(f"{home}/x.json", 1)]),
        committed=0,
    )
    probed = probe(checkpoint)
    found = probed.found
    assert isinstance(found, FileSource)
    assert (found.pending.files, found.pending.looked, found.pending.gone) == (2, 2, 1)
    assert found.pending.first_gone == f"{home}/x.json"
    assert (found.read.files, found.read.gone) == (1, 0)
    assert probed.lossless_for == timedelta(0)


def test_a_log_that_is_ahead_of_the_offsets_is_pending(inputs: Path) -> None:
    checkpoint = checkpoint_of(log_of([entry(f"{inputs.as_uri()}/a.json", 0)]))
    checkpoint.files["sources/0/1"] = log_of([entry(f"{inputs.as_uri()}/gone.json", 1)])
    assert found_of(checkpoint).pending.gone == 1


def test_of_a_purged_log_the_last_entry_is_pending(inputs: Path) -> None:
    home = inputs.as_uri()
    checkpoint = checkpoint_of(
        *(log_of([entry(f"{home}/a.json", number)]) for number in range(3)), committed=1
    )
    del checkpoint.files["offsets/1"], checkpoint.files["offsets/0"]
    assert found_of(checkpoint).pending.files == 1


def test_changed_old_and_waiting_files_are_counted(inputs: Path) -> None:
    home = inputs.as_uri()
    write(inputs / "b.json", NOW_MS + 60_000)
    write(inputs / "late.json", NOW_MS - 8 * DAY_MS)
    write(inputs / "_hidden", NOW_MS - 8 * DAY_MS)
    write(inputs / ".part.crc", NOW_MS - 8 * DAY_MS)
    found = found_of(
        checkpoint_of(log_of([entry(f"{home}/a.json", 0), entry(f"{home}/b.json", 0)]))
    )
    assert (found.read.changed, found.read.first_changed) == (1, f"{home}/b.json")
    assert (found.listed.files, found.listed.too_old, found.listed.waiting) == (4, 1, 1)
    assert found.listed.first_too_old == f"{home}/late.json"


def test_an_old_file_that_is_in_the_log_was_read(inputs: Path) -> None:
    home = inputs.as_uri()
    write(inputs / "late.json", NOW_MS - 8 * DAY_MS)
    log = log_of(
        [entry(f"{home}/late.json", 0, ms=NOW_MS - 8 * DAY_MS), entry(f"{home}/a.json", 0)]
    )
    assert found_of(checkpoint_of(log)).listed.too_old == 0


def test_a_time_in_the_future(inputs: Path) -> None:
    log = log_of([entry(f"{inputs.as_uri()}/a.json", 0, ms=NOW_MS + 30 * DAY_MS)])
    found = found_of(checkpoint_of(log))
    assert found.future_ms == 30 * DAY_MS
    assert found.newest_path == f"{inputs.as_uri()}/a.json"


def test_files_under_two_addresses_are_counted_once() -> None:
    log = log_of(
        [
            entry("s3://lake/in/a.json", 0),
            entry("s3://lake/in/b.json", 0),
            entry("s3a://lake/in/a.json", 0),
            entry("s3a://lake/in/b.json", 0, ms=NOW_MS + 1),
        ]
    )
    found = found_of(checkpoint_of(log), lambda _: MemoryStorage({"a.json": b"", "b.json": b""}))
    assert found.repeated == 1
    assert found.roots == ("s3://lake", "s3a://lake")
    assert found.directory == "s3a://lake/in"


def test_a_disk_that_is_not_here_is_not_known() -> None:
    probed = probe(checkpoint_of(log_of([entry("file:///no/such/place/a.json", 0)])))
    assert isinstance(probed.found, NotProbed)
    assert "none of the 1 files" in probed.found.why


HOSTILE = (
    "../../etc/passwd",
    "file:///in/../../etc/passwd",
    "file:///in/%2e%2e/etc/passwd",
    "file:///in/%00",
    "file:///in/%ff.json",
    "file:///in/",
    "in/a.json",
    "",
    "javascript:alert(1)",
)


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_path_is_never_opened(path: str) -> None:
    asked: list[str] = []

    def open_at(location: str) -> Reader:
        asked.append(location)
        return MemoryStorage({"a.json": b""})

    log = log_of([entry(path, 0), entry("s3a://lake/in/a.json", 0)])
    found = found_of(checkpoint_of(log), open_at)
    assert found.odd_paths == 1
    assert set(asked) == {"s3a://lake/in"}


def test_credentials_in_a_path_are_not_shown() -> None:
    log = log_of([entry("s3a://KEY:SECRET@lake/in/gone.json", 0)])
    found = found_of(checkpoint_of(log, committed=-1), lambda _: MemoryStorage({"x": b""}))
    assert found.pending.gone == 1
    assert "SECRET" not in repr(found)


BROKEN = (
    b"",
    b"v2\n{}",
    b"v1\n{",
    b'v1\n{"path":"file:///in/a","timestamp":"x","batchId":0}',
    b"v1\n\xff\xfe",
    b"v1\n[1]",
)


@pytest.mark.parametrize("raw", BROKEN)
def test_a_broken_log_is_a_value(raw: bytes, inputs: Path) -> None:
    checkpoint = checkpoint_of(log_of([entry(f"{inputs.as_uri()}/a.json", 0)]), raw)
    found = found_of(checkpoint)
    assert [each.partition(":")[0] for each in found.unreadable] == ["sources/0/1"]
    assert not found.listed.is_whole
    assert found.listed.too_old == found.listed.waiting == 0


def test_a_log_without_files_and_names_that_are_no_numbers() -> None:
    checkpoint = checkpoint_of(b"v1", b"v1")
    checkpoint.files["sources/0/x"] = b"v1\n{"
    assert isinstance(probe(checkpoint).found, NotProbed)


class Refusing(MemoryStorage):
    """A store that lets nothing be seen."""

    def stat(self, path: str) -> FileInfo | None:
        raise ReadError(path, why="Access denied.", how="Ask.")

    def list_after(self, directory: str, after: str) -> object:  # type: ignore[override]
        raise ReadError(directory or after, why="Access denied.", how="Ask.")


def test_what_may_not_be_seen_is_not_gone() -> None:
    log = log_of([entry("s3a://lake/in/a.json", 0)])
    found = found_of(checkpoint_of(log, committed=-1), lambda _: Refusing())
    assert (found.pending.files, found.pending.looked, found.pending.gone) == (1, 0, 0)
    assert not found.listed.is_whole


def test_a_location_that_cannot_be_opened_is_not_gone() -> None:
    log = log_of([entry("dbfs:/mnt/in/a.json", 0)])
    found = found_of(checkpoint_of(log, committed=-1))
    assert (found.pending.looked, found.pending.gone) == (0, 0)


class Counting(MemoryStorage):
    """Counts what is asked for, of all its kind."""

    asked = 0

    def stat(self, path: str) -> FileInfo | None:
        type(self).asked += 1
        return FileInfo(path=path, size_bytes=1, modified=NOW)


ENTRIES = 30_000


def large_log(entries: int) -> bytes:
    line = entry("s3a://lake/in/day=%d/part-%08d.json", 0)
    return (
        "v1\n" + "\n".join(line % (number // 100, number) for number in range(entries))
    ).encode()


def test_a_large_log_takes_constant_memory_and_few_requests(tmp_path: Path) -> None:
    home = tmp_path / "sources/0"
    home.mkdir(parents=True)
    (home / "9.compact").write_bytes(large_log(ENTRIES))
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets/0").write_text(f'v1\n{OFFSET}\n{{"logOffset":9}}')
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits/0").write_text("v1\n{}")
    checkpoint = LocalReader(parse_location(str(tmp_path)))
    Counting.asked = 0
    tracemalloc.start()
    found = found_of(checkpoint, lambda _: Counting())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.logged, found.read.files, found.read.looked) == (ENTRIES, ENTRIES, 200)
    assert Counting.asked <= file_scan.SAMPLE
    assert peak < 40 << 20


def test_of_a_log_beyond_the_bound_slices_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_scan, "LARGEST_READ", 1 << 20)
    monkeypatch.setattr(file_scan, "SLICE_BYTES", 1 << 10)
    checkpoint = checkpoint_of(log_of([]))
    checkpoint.files["sources/0/9.compact"] = large_log(50_000)
    found = found_of(checkpoint, lambda _: Counting())
    assert not found.is_whole
    assert found.unreadable == ()
    assert 0 < found.logged < 1_000
    assert found.last_directory == "s3a://lake/in/day=499"
    assert not found.listed.is_whole


def test_of_many_directories_some_are_listed() -> None:
    log = log_of(entry(f"s3a://lake/in/{number}/a.json", 0) for number in range(500))
    opened: list[str] = []

    def open_at(location: str) -> Reader:
        opened.append(location)
        return MemoryStorage({"a.json": b""})

    found = found_of(checkpoint_of(log), open_at)
    assert not found.listed.is_whole
    assert found.listed.files <= file_listing.DIRECTORIES
    assert len(opened) <= file_scan.SAMPLE + file_listing.DIRECTORIES


class Listing(Counting):
    """One directory with every file of the log."""

    def __init__(self) -> None:
        super().__init__({f"{number}.json": b"" for number in range(700)})


def test_files_that_a_listing_shows_are_not_asked_for() -> None:
    log = log_of(entry(f"s3a://lake/in/{number}.json", 0) for number in range(700))
    Counting.asked = Listing.asked = 0
    found = found_of(checkpoint_of(log), lambda _: Listing())
    assert (found.read.looked, found.read.gone, Listing.asked) == (200, 0, 0)
    assert found.listed.files == 700


def test_a_link_that_is_newer_than_its_file_has_not_changed(inputs: Path) -> None:
    (inputs / "link.json").symlink_to(inputs / "a.json")
    os.utime(inputs / "link.json", (NOW_MS / 1000 + 900,) * 2, follow_symlinks=False)
    log = log_of([entry(f"{inputs.as_uri()}/link.json", 0)])
    assert found_of(checkpoint_of(log)).read.changed == 0


def test_what_a_file_sink_left_in_its_output_is_not_too_old(tmp_path: Path) -> None:
    parts = [tmp_path / "out/p=1", tmp_path / "out/p=2"]
    for part in parts:
        part.mkdir(parents=True)
        write(part / "a.json")
        write(part / "aborted.json", NOW_MS - 8 * DAY_MS)
    (tmp_path / "out/_spark_metadata").mkdir()
    one = checkpoint_of(log_of([entry(f"{parts[0].as_uri()}/a.json", 0)]))
    both = checkpoint_of(log_of(entry(f"{part.as_uri()}/a.json", 0) for part in parts))
    assert [found_of(each).listed.too_old for each in (one, both)] == [0, 0]
    (tmp_path / "out/_spark_metadata").rmdir()
    assert [found_of(each).listed.too_old for each in (one, both)] == [1, 2]
