from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.file_log import MOST_LINE_BYTES
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.checkpoint.sources.read import read_sources
from holdfast.checkpoint.text import split_lines
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.sources.auto_loader.kind import AutoLoaderOffset
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.files.kind import FileOffset
from holdfast.sources.iceberg.kind import ICEBERG, IcebergOffset
from holdfast.sources.kafka.kind import KafkaOffset, count_records, parse_initial_offset
from holdfast.sources.kind import Offset, StartTime
from holdfast.sources.rate.kind import NUMBER, CountOffset, RateMicroBatchOffset
from holdfast.sources.registry import began_of, parse_offset
from holdfast.sources.unknown.kind import OpaqueOffset
from holdfast.storage.memory import MemoryStorage

DELTA = (
    '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":12,"index":-1,'
    '"isStartingVersion":false}'
)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("26", CountOffset(value=26)),
        ('{"logOffset":7}', FileOffset(log_offset=7)),
        ('{"offset":16,"timestamp":3000}', RateMicroBatchOffset(rows=16, timestamp_ms=3000)),
        (
            '{"a":{"0":23,"1":345},"b":{"0":-2}}',
            KafkaOffset(partitions={"a": {0: 23, 1: 345}, "b": {0: -2}}),
        ),
        (DELTA, DeltaOffset(table_id="t", version=12, index=-1, initial_snapshot=False)),
        ('{"pos": 12}', OpaqueOffset(text='{"pos": 12}')),
        ('{"version":1,"snapshot_id":5}', OpaqueOffset(text='{"version":1,"snapshot_id":5}')),
        ('{"0":{"value":26,"runTimeMs":1}}', OpaqueOffset(text='{"0":{"value":26,"runTimeMs":1}}')),
        (
            '{"version":1,"snapshot_id":5,"position":2,"scan_all_files":true}',
            IcebergOffset(snapshot_id=5, position=2, scan_all_files=True),
        ),
        (
            '{"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":3,'
            '"lastBackfillFinishTimeMs":4}',
            AutoLoaderOffset(sequence=234, source_version=1, last_backfill_ms=4, input_path=None),
        ),
        (
            '{"seqNum":3,"sourceVersion":3,"lastInputPath":"abfss://a@b/in"}',
            AutoLoaderOffset(
                sequence=3, source_version=3, last_backfill_ms=None, input_path="abfss://a@b/in"
            ),
        ),
        ("{}", OpaqueOffset(text="{}")),
        ("true", OpaqueOffset(text="true")),
        ("", OpaqueOffset(text="")),
        ("not json", OpaqueOffset(text="not json")),
    ],
)
def test_an_offset_is_known_by_its_shape(text: str, offset: Offset) -> None:
    assert parse_offset(text) == offset


@given(st.text())
def test_any_text_is_an_offset_or_opaque(text: str) -> None:
    parse_offset(text)


@given(st.binary())
def test_any_bytes_are_where_an_iceberg_source_began_or_unparsed(raw: bytes) -> None:
    found = ICEBERG.parse_beginning("sources/0/offsets/0", raw)
    assert isinstance(found, IcebergOffset | Unparsed)


def test_records_between_two_entries_are_counted_over_all_partitions() -> None:
    start = KafkaOffset(partitions={"a": {0: 10, 1: 20}})
    assert count_records(start, KafkaOffset(partitions={"a": {0: 15, 1: 20}})) == 5
    assert start.partition_count == 2


def test_with_a_new_partition_or_no_start_the_number_is_not_known() -> None:
    start = KafkaOffset(partitions={"a": {0: 10}})
    assert count_records(start, KafkaOffset(partitions={"a": {0: 15, 1: 3}})) is None
    assert count_records(start, KafkaOffset(partitions={"b": {0: 15}})) is None
    assert count_records(None, start) is None


@pytest.mark.parametrize("raw", [b'\0v1\n{"a":{"0":3}}', b'\0{"a":{"0":3}}'])
def test_kafkas_first_offsets_are_read_with_and_without_a_version(raw: bytes) -> None:
    assert parse_initial_offset("sources/0/0", raw) == KafkaOffset(partitions={"a": {0: 3}})


@pytest.mark.parametrize("raw", [b"", b'v1\n{"a":{"0":3}}', b"\0", b"\0v1", b"\0v1\n{}", b"\0\xff"])
def test_what_is_not_kafkas_first_offset_is_unparsed(raw: bytes) -> None:
    assert isinstance(parse_initial_offset("sources/0/0", raw), Unparsed)


def test_rates_start_time_is_read() -> None:
    assert NUMBER.parse_beginning("sources/0/0", b"v1\n1794695831641") == StartTime(
        epoch_ms=1794695831641
    )
    for raw in (b"", b"v1", b"v1\nx", b"v1\n1\n2", b"v1\n-1", b"v2\n1", b"v1\n" + b"9" * 20):
        assert isinstance(NUMBER.parse_beginning("sources/0/0", raw), Unparsed)


ENTRY = b'{"path":"file:///in/c.json","timestamp":6,"batchId":1}'
LOG = b'v1\n{"path":"file:///in/a%20b.json","timestamp":5,"batchId":0}\n' + ENTRY
FILES = [
    FileEntry(path="file:///in/a%20b.json", timestamp_ms=5, log_offset=0),
    FileEntry(path="file:///in/c.json", timestamp_ms=6, log_offset=1),
]


def pieces(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[start : start + size] for start in range(0, len(raw), size))


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize(
    "raw", [LOG, LOG + b"\n", LOG.replace(b"\n", b"\r\n"), LOG.replace(b"\n", b"\r") + b"\r"]
)
def test_a_file_log_is_read_in_pieces_of_any_size(size: int, raw: bytes) -> None:
    assert list(parse_file_log("sources/0/1", pieces(raw, size))) == FILES


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the file is empty"),
        (b"v2\n", "its first line is b'v2', not 'v1'"),
        (LOG[:-5], "line 3 is not a file entry"),
        (b"v1\n{}", "line 2 is not a file entry"),
        (b'v1\n{"path":1,"timestamp":1,"batchId":0}', "line 2 is not a file entry"),
        (LOG + b"\n\n", "line 4 is not a file entry"),
        (b"v1\n" + ENTRY.replace(b",", b",\n"), "line 2 is not a file entry"),
        (b"v1\n" + ENTRY.replace(b"c.json", b"\xff"), "line 2 is not a file entry"),
        (b"v1\n" + ENTRY.replace(b"{", b'{"more":"\xff",'), "line 2 is not a file entry"),
        (b"v1\n" + ENTRY.replace(b"{", b'{"more":' + b"[" * 9999), "line 2 is not a file entry"),
    ],
    ids=str,
)
def test_a_file_log_that_is_damaged_ends_where_it_is(raw: bytes, reason: str) -> None:
    *entries, last = parse_file_log("sources/0/1", iter([raw]))
    assert last == Unparsed(path="sources/0/1", reason=reason)
    assert all(isinstance(entry, FileEntry) for entry in entries)


@pytest.mark.parametrize("size", [99_999, MOST_LINE_BYTES, 2 * MOST_LINE_BYTES])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_may_be_as_long_as_the_bound_and_no_longer(size: int, end: bytes) -> None:
    longest = b"v1\n" + ENTRY.ljust(MOST_LINE_BYTES)
    assert list(parse_file_log("sources/0/1", pieces(longest + end, size))) == FILES[1:]
    (last,) = parse_file_log("sources/0/1", pieces(longest + b" " + end, size))
    assert last == Unparsed(path="sources/0/1", reason="line 2 is longer than 1,048,576 bytes")


def test_a_file_without_line_ends_is_given_up_before_it_fills_the_memory() -> None:
    for begin in (b"", b"v1\n"):
        chunks = itertools.chain([begin], itertools.repeat(b" " * 100_000, 200))
        (last,) = parse_file_log("sources/0/1", chunks)
        assert isinstance(last, Unparsed)
        assert len(list(chunks)) > 180


def is_entry(line: str, raw: bytes) -> bool:
    """Spark's parser does not look at what follows an entry, but the text must be UTF-8."""
    return line.lstrip(" ").startswith(ENTRY.decode()) and not (b"\xff" in raw and "?" in line)


def test_what_follows_an_entry_in_its_line_is_not_looked_at() -> None:
    raw = LOG + ENTRY + b"v1"
    assert list(parse_file_log("sources/0/1", iter([raw]))) == FILES


PIECES = st.sampled_from([ENTRY, b"v1", b"\n", b"\r", b"\r\n", b" ", b"{}", b"\xff"])


@given(st.lists(PIECES), st.integers(min_value=1, max_value=70))
def test_a_file_log_has_the_lines_that_other_logs_have(parts: list[bytes], size: int) -> None:
    raw = b"v1\n" + b"".join(parts)
    found = list(parse_file_log("sources/0/1", pieces(raw, size)))
    lines = split_lines(raw.replace(b"\xff", b"?")) or []
    good = list(itertools.takewhile(lambda line: is_entry(line, b"".join(parts)), lines[1:]))
    assert found[: len(good)] == [FILES[1]] * len(good)
    number = len(good) + 2
    bad = [Unparsed(path="sources/0/1", reason=f"line {number} is not a file entry")]
    assert found[len(good) :] == (bad if number <= len(lines) else [])


@given(st.binary())
def test_no_bytes_make_a_source_log_raise(raw: bytes) -> None:
    list(parse_file_log("sources/0/1", iter([b"v1\n" + raw])))
    list(parse_file_log("sources/0/1", iter([b"v1\n" + ENTRY.replace(b"c", raw)])))
    parse_initial_offset("sources/0/0", b"\0" + raw)
    NUMBER.parse_beginning("sources/0/0", raw)


def test_what_iceberg_and_auto_loader_keep_is_named() -> None:
    files = {
        "sources/0/offsets/0": b'{"version":1,"snapshot_id":5,"position":0,"scan_all_files":true}',
        "sources/1/rocksdb/SSTs/000009.sst": b"",
        "sources/2/offsets/0": b"\xff",
    }
    iceberg, loader, damaged = read_sources(MemoryStorage(files))
    assert began_of(iceberg) == IcebergOffset(snapshot_id=5, position=0, scan_all_files=True)
    assert (loader.began, loader.directories) == (None, ("rocksdb",))
    assert isinstance(began_of(damaged), Unparsed)
