"""Rows of state by version, held against Spark's counts and against reading each version alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.checkpoint.state import NotCounted, Operator, Store
from holdfast.checkpoint.state.live_rows import Question
from holdfast.checkpoint.state.row_codec import RowCodec, find_codec, has_families
from holdfast.checkpoint.state.scan import ScannedStore, StoreScan, scan_store
from holdfast.checkpoint.state.unsafe_row import NotDecoded
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.next_start import needed_version
from holdfast.evidence.state import ROCKSDB, provider_of, unique_ids
from holdfast.spark_versions import SUPPORTED
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import ARCHIVES, Archive, open_archive
from tests.unit.checkpoint.test_state_archives import answers, is_a_store, operator_of
from tests.unit.checkpoint.unsafe_rows import checkpoint_files, struct_of
from tests.unit.checkpoint.unsafe_rows import row as row_of

ALL = Question(wanted=lambda _: True, most=10_000)
SAME = [
    ("aggregation", "aggregation-changelog"),
    ("aggregation-rocksdb", "aggregation-zstd"),
    ("aggregation-lzf", "aggregation-snappy"),
    ("aggregation-rocksdb", "aggregation-lzf"),
    ("deduplication", "deduplication-changelog"),
    ("join", "join-rocksdb"),
]
"""Cases with the same input, in both providers and with every codec."""


def stores_of(checkpoint: Checkpoint) -> Iterator[tuple[Operator, Store]]:
    yield from ((each, store) for each in checkpoint.state for store in each.stores)


def scan(  # noqa: PLR0917 - as short as a test needs it
    files: MemoryStorage,
    checkpoint: Checkpoint,
    place: tuple[Operator, Store],
    version: int,
) -> StoreScan:
    operator, store = place
    ids = unique_ids(checkpoint, operator).get((store.partition, store.name))
    chosen = ScannedStore(store=store, ids=ids, has_families=has_families(operator))
    return scan_store(files, chosen, version, question=ALL)


def codec_of(checkpoint: Checkpoint, operator: Operator, store: Store) -> RowCodec | NotDecoded:
    entry = checkpoint.newest_readable
    conf = entry.metadata.conf if entry and entry.metadata else {}
    return find_codec(operator, store, conf, is_rocksdb=provider_of(operator) == ROCKSDB)


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest) -> Archive:
    return open_archive(request.param)


def test_rows_of_every_version_are_sparks_and_are_decoded(archive: Archive) -> None:
    checkpoint = read_checkpoint(archive.checkpoint)
    for answer in answers(archive):
        operator = operator_of(checkpoint, answer)
        if not is_a_store(operator, answer):
            continue
        total = 0
        for store in operator.stores:
            if store.name != answer.get("storeName", "default"):
                continue
            version = int(answer["batchId"]) + 1
            found = scan(archive.checkpoint, checkpoint, (operator, store), version)
            assert isinstance(found.rows, int), found.rows
            assert (found.matching, len(found.kept)) == (found.rows, found.rows)
            total += found.rows
            codec = codec_of(checkpoint, operator, store)
            assert isinstance(codec, RowCodec)
            for row in found.kept:
                assert row.value is not None
                said = repr((codec.key(row.key), codec.value(row.value)))
                assert "NotDecoded" not in said
        assert total == answer["rows"], answer


def test_all_row_counts_of_stores_were_compared() -> None:
    """A checker that compares nothing would pass."""
    seen: Counter[bool] = Counter()
    for name in ARCHIVES:
        checkpoint = read_checkpoint(open_archive(name).checkpoint)
        for answer in answers(open_archive(name)):
            seen[is_a_store(operator_of(checkpoint, answer), answer)] += 1
    assert seen[True] == 539


def test_growth_and_since_are_those_of_reading_each_version_alone(archive: Archive) -> None:
    checkpoint = read_checkpoint(archive.checkpoint)
    newest = needed_version(checkpoint)
    for place in stores_of(checkpoint):
        found = scan(archive.checkpoint, checkpoint, place, newest)
        if has_families(place[0]):
            continue
        alone: dict[int, set[bytes]] = {0: set()}
        for each in found.versions:
            other = scan(archive.checkpoint, checkpoint, place, each.version)
            if isinstance(other.rows, NotCounted):  # what it builds on is purged
                assert each.rows is None
                continue
            assert each.rows == other.rows, (archive.name, place[1].directory, each)
            alone[each.version] = {row.key for row in other.kept}
        for row in found.kept:
            first = newest
            while row.key in alone.get(first - 1, ()):
                first -= 1
            assert (row.since, row.is_older) == (first, first - 1 not in alone), archive.name


def decoded(name: str) -> Counter[str]:
    """Return the rows at the newest version, decoded."""
    archive = open_archive(name)
    checkpoint = read_checkpoint(archive.checkpoint)
    rows: Counter[str] = Counter()
    for operator, store in stores_of(checkpoint):
        codec = codec_of(checkpoint, operator, store)
        assert isinstance(codec, RowCodec)
        found = scan(archive.checkpoint, checkpoint, (operator, store), needed_version(checkpoint))
        for row in found.kept:
            rows[f"{codec.key(row.key)} {codec.value(row.value or b'')}"] += 1
    return rows


@pytest.mark.parametrize("spark", SUPPORTED)
@pytest.mark.parametrize("same", SAME)
def test_the_same_query_has_the_same_rows_in_both_providers(
    spark: str, same: tuple[str, str]
) -> None:
    one, other = (decoded(f"{spark}-{case}") for case in same)
    assert len(one) >= 4
    assert one == other == decoded(f"4.2-{same[0]}")


@pytest.mark.parametrize("name", ["4.3-transform-with-state", "4.1-join-one-store"])
def test_column_families_are_not_decoded_and_not_guessed(name: str) -> None:
    archive = open_archive(name)
    checkpoint = read_checkpoint(archive.checkpoint)
    for operator, store in stores_of(checkpoint):
        found = codec_of(checkpoint, operator, store)
        assert isinstance(found, NotDecoded)
        assert found.what == f"column families ({operator.name})"
        counted = scan(archive.checkpoint, checkpoint, (operator, store), 1)
        assert isinstance(counted.rows, int)
        assert (counted.is_searched, counted.kept) == (False, ())


@pytest.mark.parametrize("wanted", [None, lambda _: True])
def test_rows_that_came_later_are_kept_when_the_first_are_gone(
    wanted: Callable[[bytes], bool] | None,
) -> None:
    first = [(row_of(b"%d" % number), row_of(number)) for number in range(3)]
    later = [(row_of(b"later %d" % number), row_of(number)) for number in range(3)]
    gone: list[tuple[bytes, bytes | None]] = [(key, None) for key, _ in first]
    batches: list[Sequence[tuple[bytes, bytes | None]]] = [first, later, gone]
    files = checkpoint_files(batches, struct_of(k="string"), struct_of(n="long"))
    checkpoint = read_checkpoint(MemoryStorage(files))
    chosen = ScannedStore(store=checkpoint.state[0].stores[0])
    asked = Question(wanted=wanted, most=2)
    found = scan_store(MemoryStorage(files), chosen, 3, question=asked)
    assert (found.rows, found.matching) == (3, 3)
    assert [(each.key, each.value, each.since) for each in found.kept] == [
        (key, value, 2) for key, value in later[:2]
    ]


def damaged(name: str, ending: str, raw: bytes | None) -> list[StoreScan]:
    """Return the scans of a checkpoint in which every file of this name is other bytes."""
    files = dict(open_archive(name).checkpoint.files)
    chosen = [path for path in files if path.endswith(ending) and "/." not in path]
    assert chosen
    for path in chosen:
        if raw is None:
            del files[path]
        else:
            files[path] = raw
    storage = MemoryStorage(files)
    checkpoint = read_checkpoint(storage)
    return [
        scan(storage, checkpoint, place, needed_version(checkpoint))
        for place in stores_of(checkpoint)
    ]


@pytest.mark.parametrize("raw", [b"", b"x", b"LZ4Block" + b"\xff" * 13, bytes(5000)])
@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("4.2-aggregation-pending", ".delta"),
        ("4.2-aggregation-rocksdb", ".zip"),
        ("4.2-aggregation-rocksdb", ".sst"),
        ("4.3-aggregation-changelog", ".changelog"),
    ],
)
def test_damaged_files_are_values(name: str, ending: str, raw: bytes) -> None:
    for found in damaged(name, ending, raw):
        if isinstance(found.rows, int):  # a changelog beside a zip of the same version
            assert name == "4.3-aggregation-changelog"
        else:
            assert isinstance(found.rows, NotCounted | Unparsed)
            assert (found.is_searched, found.kept, found.matching) == (False, (), 0)


def test_a_data_file_that_is_gone_or_has_a_changed_byte_is_found() -> None:
    for found in damaged("4.2-aggregation-rocksdb", ".sst", None):
        assert isinstance(found.rows, Unparsed)
        assert "is not there in its right size" in found.rows.reason
    archive = open_archive("4.2-aggregation-rocksdb")
    path = next(each for each in archive.checkpoint.files if "/0/1/SSTs/000016" in each)
    raw = archive.checkpoint.files[path]
    checkpoint = read_checkpoint(archive.checkpoint)
    place = next(each for each in stores_of(checkpoint) if each[1].partition == 1)
    good = scan(archive.checkpoint, checkpoint, place, 6)
    wrong = 0
    for at in range(len(raw)):
        bent = raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1 :]
        storage = MemoryStorage({**archive.checkpoint.files, path: bent})
        found = scan(storage, checkpoint, place, 6)
        wrong += not isinstance(found.rows, int)
        assert not isinstance(found.rows, int) or found.kept == good.kept, at
    assert wrong > len(raw) * 0.8  # the rest are padding, filters and what is not read
