"""What no file of Spark's holds is not counted through, not held and not waited for."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from holdfast.checkpoint import Unparsed, read_checkpoint
from holdfast.checkpoint.binary import BrokenBytesError, ByteSource
from holdfast.checkpoint.checksums import Sidecar, parse_sidecar
from holdfast.checkpoint.sources.read import SourceLog, count_files
from holdfast.checkpoint.state import BrokenChain, Chain, NotCounted, count_rows, find_chain
from holdfast.checkpoint.state.codecs import unpack
from holdfast.checkpoint.state.files import StateFile, StateFileKind
from holdfast.checkpoint.state.rocksdb import LARGEST_METADATA, RocksSnapshot, parse_rocks_snapshot
from holdfast.checkpoint.text import parse_versioned, split_lines, whole_number
from holdfast.errors import ReadError
from holdfast.evidence.read_at_start import changed_files
from holdfast.ids import BatchId
from holdfast.storage import local, open_reader
from holdfast.storage.memory import MemoryStorage
from tests.fuzz import writers

ENTRY = b'v1\n{"batchTimestampMs":1,"conf":{}}\n1'


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_entry_of_line_ends_is_not_split_into_all_of_them(end: bytes) -> None:
    raw = b"v1" + end * 1_000_000
    assert len(split_lines(raw) or []) < 20_000
    assert isinstance(parse_versioned("offsets/0", raw, newest=1), Unparsed)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0])
def test_a_number_of_java_is_one(number: int) -> None:
    assert whole_number(number) == number


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400, True, 1.0, "1", None])
def test_what_no_long_of_java_can_be_is_no_number(number: object) -> None:
    assert whole_number(number) is None


def test_checksums_are_compared_only_when_there_are_as_many_as_there_must_be() -> None:
    sidecar = parse_sidecar(".0.crc", writers.sidecar(b"abc", 1))
    assert isinstance(sidecar, Sidecar)
    assert (sidecar.fits(b"abc"), sidecar.fits(bytes(100_000_000))) == (True, False)


def test_more_checksums_than_any_entry_has_are_none() -> None:
    assert isinstance(parse_sidecar(".0.crc", writers.sidecar(b"", 1) + bytes(8 << 20)), Unparsed)


@pytest.mark.parametrize("sidecar", [b"", b"crc\0", b"crc\0\0\0\2\0\1", b"nothing of Hadoop's"])
def test_checksums_that_cannot_be_read_vouch_for_nothing(sidecar: bytes) -> None:
    files = {f"offsets/{batch}": ENTRY for batch in (0, 1)}
    sidecars = {"offsets/.0.crc": sidecar, "offsets/.1.crc": writers.sidecar(ENTRY, 512)}
    found = read_checkpoint(MemoryStorage(files | sidecars))
    assert found.stale_sidecars == ("offsets/.0.crc",)
    assert found.unverified == ("offsets/0",)
    assert list(changed_files(found)) == []


@pytest.mark.parametrize("there", [7, 900, 2**63 - 1])
def test_a_version_below_all_that_are_there_is_missing_by_its_name(there: int) -> None:
    later = StateFile(version=there, kind=StateFileKind.DELTA, size_bytes=1)
    assert find_chain([later], 5) == BrokenChain(version=5, missing=("5.delta",))


def test_files_between_offsets_that_are_worlds_apart_are_not_counted() -> None:
    log = SourceLog(
        name="0", began=None, entries=(BatchId(0),), compacts=(), unparsed=(), size_bytes=1,
        leftovers=(), lone_sidecars=(),
    )  # fmt: skip
    assert count_files(MemoryStorage(), log, range(-(2**63), 2**63)) is None


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_is_unpacked_only_as_java_packs_it(method: int) -> None:
    member = zipfile.ZipInfo("metadata")
    member.compress_type = method
    metadata = writers.snapshot_metadata([])
    assert isinstance(parse_rocks_snapshot("1.zip", writers.zip_of((member, metadata))), Unparsed)
    plain = writers.zip_of(("metadata", metadata))
    assert isinstance(parse_rocks_snapshot("1.zip", plain), RocksSnapshot)


def test_of_a_snapshots_metadata_no_more_is_read_than_is_taken() -> None:
    large = writers.zip_of(("metadata", bytes(LARGEST_METADATA + 1)))
    assert isinstance(parse_rocks_snapshot("1.zip", large), Unparsed)


def test_a_changed_block_far_into_a_file_does_not_fit_its_checksum() -> None:
    block = writers.stored(bytes(8 << 20))
    changed = block[:-1] + b"x"
    with pytest.raises(BrokenBytesError):
        for _ in unpack(iter((block, block, changed))):
            pass


@pytest.mark.parametrize("said", [-1, 0, 1, 11, 13, 64 << 20, 65 << 20])
def test_a_block_of_another_length_than_it_says_is_broken(said: int) -> None:
    packed = writers.compress("lz4_raw", b"twelve bytes")
    assert list(unpack(iter((writers.lz4_block(packed, 12, raw=b"twelve bytes"),)))) == [
        b"twelve bytes"
    ]
    with pytest.raises(BrokenBytesError):
        list(unpack(iter((writers.lz4_block(packed, said, raw=b"twelve bytes"),))))


def test_a_file_may_come_in_pieces_of_any_size() -> None:
    raw = writers.lz4(writers.pairs([(b"key", b"value")]))
    pieces = [b"", *(raw[at : at + 1] for at in range(len(raw))), b""]
    assert b"".join(unpack(iter(pieces))) == b"".join(unpack(iter((raw,))))


def test_whether_a_stream_has_ended_is_asked_without_copying_it() -> None:
    source = ByteSource(iter((bytes(8 << 20),)))
    for _ in range(200_000):
        assert not source.ended()
        source.take(1)


def test_changes_that_a_file_of_its_size_cannot_mean_are_not_counted_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("holdfast.checkpoint.state.records._FREE_CHANGES", 1_000)
    raw = writers.zstd(bytes(1 << 20))
    file = StateFile(version=1, kind=StateFileKind.DELTA, size_bytes=len(raw))
    chain = Chain(version=1, base=None, changes=(file,))
    counted = count_rows(MemoryStorage({"s/1.delta": raw}), "s", chain)
    assert isinstance(counted, NotCounted)
    assert "s/1.delta" in counted.why


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metadata")
    reader = open_reader(str(tmp_path))
    assert reader.stat("metadata") is None
    with pytest.raises(ReadError, match="pipe"):
        reader.read("metadata")
    assert isinstance(read_checkpoint(reader).metadata, Unparsed)


def test_directories_in_each_other_are_walked_without_asking_anew_where_they_lie(
    tmp_path: Path,
) -> None:
    deep = tmp_path.joinpath(*["d"] * 500)
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"x")
    reader = open_reader(str(tmp_path))
    assert [info.path for info in reader.walk()] == ["d/" * 500 + "file"]


def test_a_time_that_no_calendar_has_is_some_time(tmp_path: Path) -> None:
    class Found:
        st_mtime_ns, st_size, st_ino = 1, 5, 1

        def __init__(self, second: float) -> None:
            self.st_mtime = second

    for second in (2.0**60, 2.0**40, -(2.0**40)):
        assert local._describe("a", Found(second)).size_bytes == 5  # type: ignore[arg-type]
    (tmp_path / "a").write_bytes(b"x")
    assert local._describe("a", (tmp_path / "a").stat()).modified.year > 2000


def test_a_file_that_may_not_be_asked_for_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Entry:
        name = "a"

        def is_dir(self, *, follow_symlinks: bool) -> bool:
            return follow_symlinks

        def stat(self, *, follow_symlinks: bool) -> None:
            raise PermissionError(13, f"Permission denied {follow_symlinks}")

    reader = open_reader(str(tmp_path))
    monkeypatch.setattr(type(reader), "_scan", lambda *_: [Entry()])
    with pytest.raises(ReadError, match="Permission denied"):
        reader.list()
    with pytest.raises(ReadError, match="Permission denied"):
        list(reader.walk())
