from __future__ import annotations

import hashlib
import json
from itertools import pairwise

import pytest

from holdfast.checkpoint import OffsetEntry, Unparsed, read_checkpoint
from holdfast.checkpoint.text import canonical
from holdfast.errors import ReadError
from holdfast.ids import BatchId
from holdfast.ledger.coverage import (
    NOTHING_READ,
    Coverage,
    canonical_offset,
    read_coverage,
    same_offsets,
)
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Listing
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

MICRO_BATCHES = [name for name in ARCHIVES if not name.endswith(("async", "continuous"))]
HEAD = b'v1\n{"batchWatermarkMs":%d,"batchTimestampMs":%d,"conf":{}}\n'
FILE = b'{"path":"file:///in/%s","timestamp":5,"batchId":%d}\n'


def covered(storage: MemoryStorage, batch: int) -> Coverage:
    found = read_coverage(storage, BatchId(batch))
    assert isinstance(found, Coverage), found
    return found


@pytest.mark.parametrize("name", MICRO_BATCHES)
def test_every_batch_of_a_real_checkpoint_is_covered_and_each_follows_from_the_one_before(
    name: str,
) -> None:
    storage = open_archive(name).checkpoint
    kept = [
        batch
        for batch, entry in read_checkpoint(storage).offsets.items()
        if isinstance(entry, OffsetEntry)
        and (batch == 0 or f"offsets/{batch - 1}" in storage.files)
    ]
    coverages = [covered(storage, batch) for batch in kept]
    assert len({each.digest for each in coverages}) == len(coverages)
    for before, after in pairwise(coverages):
        if after.batch_id == before.batch_id + 1:
            assert after.start_offsets == before.end_offsets
    if kept[0] == 0:
        assert coverages[0].start_offsets == NOTHING_READ


def kafka(*entries: bytes, time: int = 1, watermark: int = 0) -> MemoryStorage:
    files = {f"offsets/{n}": HEAD % (watermark, time) + text for n, text in enumerate(entries)}
    return MemoryStorage(files)


def test_the_order_of_keys_and_spaces_do_not_matter() -> None:
    one = kafka(b'{"t":{"0":1}}', b'{"t":{"0":5,"1":6}}')
    other = kafka(b'{"t": {"0": 1}}', b'{"t":{"1":6,"0":5}}')
    assert covered(one, 1) == covered(other, 1)


@pytest.mark.parametrize(
    "other",
    [
        kafka(b'{"t":{"0":1}}', b'{"t":{"0":6}}'),
        kafka(b'{"t":{"0":2}}', b'{"t":{"0":5}}'),
        kafka(b'{"t":{"0":1}}', b'{"t":{"0":5}}', time=2),
        kafka(b'{"t":{"0":1}}', b'{"t":{"0":5}}', watermark=2),
    ],
)
def test_another_range_time_or_watermark_is_another_batch(other: MemoryStorage) -> None:
    one = kafka(b'{"t":{"0":1}}', b'{"t":{"0":5}}')
    assert covered(one, 1).digest != covered(other, 1).digest


def files_read(*names: bytes, compact: bool = False, older: int = 0) -> MemoryStorage:
    log = b"v1\n" + b"".join(FILE % (b"old%d" % n, 0) for n in range(older))
    log += b"".join(FILE % (name, 1) for name in names)
    return MemoryStorage(
        {
            "offsets/0": HEAD % (0, 1) + b'{"logOffset":0}',
            "offsets/1": HEAD % (0, 2) + b'{"logOffset":1}',
            "sources/0/0": b"v1\n" + FILE % (b"first", 0),
            f"sources/0/1{'.compact' if compact else ''}": log.rstrip(),
        }
    )


def test_a_digest_is_the_same_in_every_release() -> None:
    """Ledger rows keep it over an upgrade: with another one the last batch would be refused."""
    storage = files_read("ä".encode(), b"b")
    said = (
        '{"end":{"0":{"logOffset":1}},"files":{"0":[["file:///in/b",5],["file:///in/\\u00e4",5]]},'
        '"start":{"0":{"logOffset":0}},"time":2,"watermark":0}'
    )
    assert covered(storage, 1).digest == hashlib.sha256(said.encode()).hexdigest()
    nothing = MemoryStorage({"offsets/0": b"v1\n\nnot JSON"})
    said = '{"end":{"0":"not JSON"},"files":{},"start":{},"time":null,"watermark":null}'
    assert covered(nothing, 0).digest == hashlib.sha256(said.encode()).hexdigest()


def test_the_first_batch_covers_the_first_file() -> None:
    storage = files_read(b"a")
    one = covered(storage, 0)
    storage.files["sources/0/0"] = b"v1\n" + FILE % (b"other", 0)
    assert covered(storage, 0).digest != one.digest


def test_each_source_covers_the_files_of_its_own_log() -> None:
    offsets = b'{"t":{"0":5}}\n{"logOffset":0}\n{"logOffset":0}'
    storage = MemoryStorage({"offsets/0": HEAD % (0, 1) + offsets})
    for source in (1, 2):
        storage.files[f"sources/{source}/0"] = b"v1\n" + FILE % (b"in%d" % source, 0)
    found = {covered(storage, 0).digest}
    for source in (1, 2):
        storage.files[f"sources/{source}/0"] = b"v1\n" + FILE % (b"other%d" % source, 0)
        found.add(covered(storage, 0).digest)
    assert len(found) == 3


def test_a_stream_joined_with_itself_has_two_lines_and_one_log() -> None:
    storage = files_read(b"a")
    for number in range(2):
        line = b'{"logOffset":%d}' % number
        storage.files[f"offsets/{number}"] = HEAD % (0, 1) + line + b"\n" + line
    assert covered(storage, 1).digest != covered(storage, 0).digest
    del storage.files["sources/0/1"]
    found = read_coverage(storage, BatchId(1))
    assert isinstance(found, Unparsed)
    assert found.path == "sources/0/1"
    del storage.files["sources/0/0"]
    found = read_coverage(storage, BatchId(0))
    assert isinstance(found, Unparsed)
    assert found.path == "sources/0/0"


@pytest.mark.parametrize("path", ["offsets/1", "sources/0/1"])
def test_what_cannot_be_read_is_named(path: str) -> None:
    class Forbidding(MemoryStorage):
        def read(self, where: str, *, start: int = 0, length: int | None = None) -> bytes | None:
            if where == path:
                raise ReadError(where, why="It is forbidden.", how="Ask.")
            return super().read(where, start=start, length=length)

    found = read_coverage(Forbidding(files_read(b"a").files), BatchId(1))
    assert isinstance(found, Unparsed)
    assert (found.path, found.unread) == (path, True)


def test_the_same_index_with_another_file_is_another_batch() -> None:
    assert covered(files_read(b"a"), 1).digest != covered(files_read(b"b"), 1).digest
    assert covered(files_read(b"a", b"b"), 1) == covered(files_read(b"b", b"a"), 1)


@pytest.mark.parametrize("older", [0, 3, 60_000])
def test_an_entry_that_was_compacted_covers_the_same_files(older: int) -> None:
    """At 60,000 older entries the compact file is read from its end, piece by piece."""
    plain = covered(files_read(b"a", b"b"), 1)
    assert covered(files_read(b"a", b"b", compact=True, older=older), 1) == plain


class Counting(MemoryStorage):
    """A checkpoint that counts the bytes read of it."""

    read_bytes = 0

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        found = super().read(path, start=start, length=length)
        self.read_bytes += len(found or b"")
        return found


def test_of_a_large_compact_file_only_the_end_is_read() -> None:
    storage = Counting(files_read(b"a", b"b", compact=True, older=60_000).files)
    assert len(storage.files["sources/0/1.compact"]) > 3 << 20
    covered(storage, 1)
    assert storage.read_bytes < (1 << 20) + 1_000


class Unlisted(MemoryStorage):
    """A checkpoint in which nothing can be listed."""

    def list(self, directory: str = "") -> Listing:
        raise AssertionError(f"{directory} was listed")


@pytest.mark.parametrize("compact", [False, True])
def test_what_a_batch_covers_is_read_by_its_names(compact: bool) -> None:
    """A listing is one request more for every batch, which a store answers late."""
    there = files_read(b"a", b"b", compact=compact)
    for batch in (0, 1):
        assert covered(Unlisted(there.files), batch) == covered(there, batch)


def test_an_end_that_holds_no_older_entry_is_not_enough() -> None:
    """The entries of one batch alone can be more than is read at first."""
    names = [b"name-%06d" % number for number in range(40_000)]
    plain = covered(files_read(*names), 1)
    assert covered(files_read(*names, compact=True, older=3), 1) == plain


@pytest.mark.parametrize("first", [b"", b"v9", b"{}"])
def test_a_compact_file_that_is_damaged_is_named(first: bytes) -> None:
    storage = files_read(b"a", compact=True, older=3)
    path = "sources/0/1.compact"
    storage.files[path] = first + storage.files[path].removeprefix(b"v1")
    found = read_coverage(storage, BatchId(1))
    assert isinstance(found, Unparsed)
    assert found.path == path


@pytest.mark.parametrize("path", ["offsets/0", "offsets/1", "sources/0/1"])
@pytest.mark.parametrize("damage", ["gone", "empty"])
def test_what_is_missing_or_damaged_is_named(path: str, damage: str) -> None:
    storage = files_read(b"a")
    if damage == "gone":
        del storage.files[path]
    else:
        storage.files[path] = b""
    found = read_coverage(storage, BatchId(1))
    assert isinstance(found, Unparsed)
    assert found.path == path


def test_offsets_of_a_running_query_have_the_same_form() -> None:
    storage = kafka(b'{"t": {"1": 6, "0": 5}}')
    running = canonical_offset('{"t":{"0":5,"1":6}}')
    assert covered(storage, 0).end_offsets == f'{{"0":{running}}}'
    assert same_offsets({running}, covered(storage, 0).end_offsets)
    assert not same_offsets(
        {canonical_offset('{"t":{"0":5,"1":7}}')}, covered(storage, 0).end_offsets
    )
    assert not same_offsets(set(), covered(storage, 0).end_offsets)
    assert same_offsets({running}, f'{{"0":{running},"1":{running}}}'), "one source, named twice"
    other = canonical_offset('{"t":{"0":9}}')
    assert not same_offsets({running}, f'{{"0":{running},"1":{other}}}')
    assert not same_offsets({running, other}, f'{{"0":{running},"1":{running}}}')
    assert json.loads(canonical({"é": 1})) == {"é": 1}
    assert canonical_offset("not JSON") == '"not JSON"'
