"""Whatever the bytes, a parser gives a value; what Spark's grammar allows comes back as written."""

from __future__ import annotations

import json
import struct
from typing import Any

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.checkpoint.checksums import Sidecar, SparkChecksum, parse_sidecar
from holdfast.checkpoint.checksums import parse_spark_checksum as parse_checksum
from holdfast.checkpoint.commits import CommitEntry, NamedSink, parse_commit_entry
from holdfast.checkpoint.file_sink import SinkEntry, parse_sink_log
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.offsets import (
    OffsetEntry,
    OffsetMetadata,
    SourceOffset,
    parse_offset_entry,
)
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.checkpoint.state import Chain, StateFileKind, count_rows
from holdfast.checkpoint.state.files import StateFile, parse_state_name
from holdfast.checkpoint.state.operators import OperatorMetadata, parse_operator_metadata
from holdfast.checkpoint.state.records import Put, Removed, read_changes, read_lineage
from holdfast.checkpoint.state.rocksdb import RocksSnapshot, parse_rocks_snapshot
from holdfast.checkpoint.state.schema import StateSchema, parse_state_schema
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId, QueryId
from holdfast.sources.files.kind import FileOffset
from holdfast.sources.kafka.kind import KafkaOffset, parse_initial_offset
from holdfast.sources.kind import StartTime
from holdfast.sources.rate.kind import NUMBER, CountOffset
from holdfast.sources.registry import parse_offset
from holdfast.storage.memory import MemoryStorage
from tests.fuzz import writers
from tests.fuzz.damages import Damage
from tests.fuzz.parsers import ALL, DATA_FILE, LEFTOVER, Parser
from tests.fuzz.specimens import Specimen
from tests.fuzz.trials import try_parser

some = settings(max_examples=20)
"""Of each property; the whole of it is what the archives and `python -m tests.fuzz` are for."""
PATHS = {
    "delta": "state/0/0/7.delta",
    "snapshot": "state/0/0/7.snapshot",
    "changelog": "state/0/0/7.changelog",
    "zip": "state/0/0/7.zip",
    "rocksdb data": "state/0/0/SSTs/000008-a.sst",
    "leftover": "offsets/.7.3b1e0000-0000-4000-8000-000000000000.tmp",
}
HEADS = [
    *(b"", b"v1\n", b"v2\n", b"v3\n", b"v1\n{", b'{"id":"', b"\0v1\n", b"crc\0\0\0\2\0"),
    *(b"LZ4Block", b"LZ4Block\x26", b"\x28\xb5\x2f\xfd", b"\x82SNAPPY\0", b"ZV\0", b"ZV\1"),
    *(writers.utf("v1"), writers.utf("v2"), writers.utf("v3"), b"PK\3\4", b"PK\5\6"),
    *(b'{"algorithm":"CRC32C","value":', b'v1\n{"path":"p","size":1}\n'),
]
PARSED = [parser for parser in ALL if parser not in (DATA_FILE, LEFTOVER)]
LONGS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), min_size=1)
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n:"), min_size=1)
CHANGES = st.lists(st.tuples(st.binary(max_size=50), st.none() | st.binary(max_size=50)))
JSON = st.recursive(
    st.none() | st.booleans() | LONGS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
STRUCT = st.dictionaries(TEXT, JSON, max_size=3)


def failure_of(parser: Parser, raw: bytes) -> object:
    path = PATHS.get(parser.kind, "offsets/7")
    specimen = Specimen(archive="made", path=path, raw=raw, parser=parser)
    return try_parser(specimen, Damage("cut", len(raw)))


@pytest.mark.parametrize("parser", ALL, ids=lambda parser: parser.kind)
@some
@given(head=st.sampled_from(HEADS), rest=st.binary(max_size=300))
def test_any_bytes_are_a_value(parser: Parser, head: bytes, rest: bytes) -> None:
    assert failure_of(parser, head + rest) is None


@pytest.mark.parametrize(
    "parser",
    [each for each in ALL if each not in (DATA_FILE, LEFTOVER)],
    ids=lambda each: each.kind,
)
@some
@given(version=st.sampled_from(["v1", "v2", "v3", "v4"]), values=st.lists(JSON | STRUCT))
def test_any_json_is_a_value(parser: Parser, version: str, values: list[Any]) -> None:
    assert failure_of(parser, writers.versioned(1, *map(json.dumps, values))) is None
    packed = writers.stored(writers.utf(version) + writers.utf(json.dumps(values)[:9000]))
    assert failure_of(parser, packed) is None


@some
@given(name=st.text(max_size=300), size=LONGS)
def test_any_name_is_something(name: str, size: int) -> None:
    assert parse_name(name).kind in Kind
    file = parse_state_name(name, size)
    assert file is None or file.name == name


@some
@given(query_id=st.uuids().map(str))
def test_metadata_comes_back(query_id: str) -> None:
    raw = json.dumps({"id": query_id}).encode()
    assert parse_metadata("metadata", raw) == QueryMetadata(query_id=QueryId(query_id))


@some
@given(query_id=TEXT, ascii_only=st.booleans())
def test_an_id_that_is_no_uuid_is_not_taken(query_id: str, *, ascii_only: bool) -> None:
    raw = json.dumps({"id": query_id}, ensure_ascii=ascii_only).encode()
    assert isinstance(parse_metadata("metadata", raw), Unparsed)


@some
@given(
    version=st.sampled_from([1, 2]),
    times=st.tuples(LONGS, LONGS),
    conf=st.dictionaries(TEXT, TEXT),
    offsets=st.lists(st.tuples(NAME, st.none() | LINE.filter(lambda line: line != "-"))),
)
def test_an_offset_entry_comes_back(
    *,
    version: int,
    times: tuple[int, int],
    conf: dict[str, str],
    offsets: list[tuple[str, str | None]],
) -> None:
    line = {"batchWatermarkMs": times[0], "batchTimestampMs": times[1], "conf": conf}
    texts = ["-" if text is None else text for _, text in offsets]
    if version == 2:
        texts = [f"{name}:{text}" for (name, _), text in zip(offsets, texts, strict=True)]
    raw = writers.versioned(version, json.dumps(line), *texts)
    names = [name if version == 2 else str(place) for place, (name, _) in enumerate(offsets)]
    metadata = OffsetMetadata(batch_watermark_ms=times[0], batch_timestamp_ms=times[1], conf=conf)
    assert parse_offset_entry("offsets/7", BatchId(7), raw) == OffsetEntry(
        batch_id=BatchId(7),
        version=version,
        metadata=metadata,
        offsets=tuple(
            SourceOffset(source=name, text=text)
            for name, (_, text) in zip(names, offsets, strict=True)
        ),
    )


@some
@given(
    version=st.sampled_from([1, 2, 3]),
    watermark=LONGS,
    ids=st.none() | st.dictionaries(TEXT, st.lists(st.lists(TEXT))),
    sinks=st.none() | st.dictionaries(TEXT, st.tuples(TEXT, st.booleans())),
)
def test_a_commit_entry_comes_back(
    *,
    version: int,
    watermark: int,
    ids: dict[str, list[list[str]]] | None,
    sinks: dict[str, tuple[str, bool]] | None,
) -> None:
    written = {
        name: {"sinkName": name, "providerName": provider, "isActive": is_active}
        for name, (provider, is_active) in (sinks or {}).items()
    }
    body = {
        "nextBatchWatermarkMs": watermark,
        "stateUniqueIds": ids,
        "sinkMetadataMap": None if sinks is None else written,
    }
    raw = writers.versioned(version, json.dumps(body))
    known = None if ids is None or version == 1 else ids  # v1 has none, for Spark neither
    assert parse_commit_entry("commits/7", BatchId(7), raw) == CommitEntry(
        batch_id=BatchId(7),
        version=version,
        next_watermark_ms=watermark,
        state_ids=None if known is None else {key: tuple(map(tuple, known[key])) for key in known},
        sinks=None
        if sinks is None
        else tuple(
            NamedSink(name=name, provider=provider, is_active=is_active)
            for name, (provider, is_active) in sinks.items()
        ),
    )


@some
@given(
    topics=st.dictionaries(
        TEXT, st.dictionaries(st.integers(0, 2**31), LONGS, min_size=1), min_size=1
    )
)
def test_kafkas_offsets_come_back(topics: dict[str, dict[int, int]]) -> None:
    text = json.dumps(topics)
    assert parse_offset(text) == KafkaOffset(partitions=topics)
    raw = b"\0" + writers.versioned(1, text)
    assert parse_initial_offset("sources/0/0", raw) == KafkaOffset(partitions=topics)


@some
@given(number=LONGS)
def test_offsets_that_are_numbers_come_back(number: int) -> None:
    assert parse_offset(str(number)) == CountOffset(value=number)
    assert parse_offset(f'{{"logOffset":{number}}}') == FileOffset(log_offset=number)
    started = NUMBER.parse_beginning("sources/0/0", writers.versioned(1, str(abs(number))))
    assert started == StartTime(epoch_ms=abs(number))


@some
@given(files=st.lists(st.tuples(TEXT, LONGS, LONGS)), at=st.integers(0, 200))
def test_logs_of_files_come_back(files: list[tuple[str, int, int]], at: int) -> None:
    lines = [json.dumps({"path": p, "timestamp": t, "batchId": b}) for p, t, b in files]
    raw = writers.versioned(1, *lines)
    read = list(parse_file_log("sources/0/7", iter((raw[:at], raw[at:]))))
    assert read == [FileEntry(path=p, timestamp_ms=t, log_offset=b) for p, t, b in files]
    lines = [
        json.dumps({"path": p, "size": t, "action": "add", "isDir": False}) for p, t, _ in files
    ]
    raw = writers.versioned(1, *lines)
    sink = list(parse_sink_log("_spark_metadata/7", iter((raw[:at], raw[at:]))))
    assert sink == [SinkEntry(path=p, size_bytes=t) for p, t, _ in files]


@pytest.mark.parametrize("codec", writers.CODECS)
@some
@given(changes=CHANGES, at=st.integers(0, 100))
def test_state_comes_back(codec: str, changes: list[tuple[bytes, bytes | None]], at: int) -> None:
    expected = [Removed(key) if value is None else Put(key) for key, value in changes]
    pack = writers.CODECS[codec]
    lineage = json.dumps([{"version": 3, "checkpointUniqueId": "a"}, {"version": 4}])
    files = {
        StateFileKind.DELTA: [writers.pairs(changes)],
        StateFileKind.SNAPSHOT: [writers.pairs(changes)],
        StateFileKind.CHANGELOG: [
            writers.pairs(changes),
            writers.utf("v2") + writers.typed(changes),
            writers.utf("v3") + writers.utf(lineage) + writers.pairs(changes),
            writers.utf("v4") + writers.utf(lineage) + writers.typed(changes),
        ],
    }
    for kind, contents in files.items():
        for raw in map(pack, contents):
            assert list(read_changes(kind, iter((raw[:at], raw[at:])))) == expected
    assert read_lineage(iter((pack(files[StateFileKind.CHANGELOG][3]),))) == (3, 4)


@some
@given(below=CHANGES, above=CHANGES)
def test_rows_are_counted_as_a_dictionary_counts_them(
    below: list[tuple[bytes, bytes | None]], above: list[tuple[bytes, bytes | None]]
) -> None:
    whole = {key: b"" if value is None else value for key, value in below}
    then = {**whole, **dict(above)}
    contents = {"3.snapshot": whole.items(), "4.delta": above}
    files = {f"s/{name}": writers.lz4(writers.pairs(each)) for name, each in contents.items()}
    base = StateFile(version=3, kind=StateFileKind.SNAPSHOT, size_bytes=1)
    delta = StateFile(version=4, kind=StateFileKind.DELTA, size_bytes=1)
    chain = Chain(version=4, base=base, changes=(delta,))
    counted = count_rows(MemoryStorage(files), "s", chain)
    assert counted == sum(value is not None for value in then.values())


@some
@given(name=st.text(st.characters(exclude_categories=["Cs"])), schemas=st.tuples(*[STRUCT] * 3))
def test_a_state_schema_comes_back(name: str, schemas: tuple[Any, Any, Any]) -> None:
    key, value, encoder = map(json.dumps, schemas)
    old = writers.utf("v1") + writers.utf(key) + writers.utf(value)
    newer = writers.utf("v2") + writers.chunks(key) + writers.chunks(value, 7)
    newest = b"".join(
        [
            *(writers.utf("v3"), struct.pack(">i", 1), writers.utf(name), b"\0\1"),
            *(writers.chunks(key), b"\0\2", writers.chunks(value, 3)),
            *(writers.chunks(encoder), writers.chunks("")),
        ]
    )
    for version, raw in enumerate((old, newer, newest), start=1):
        found = parse_state_schema("schema", raw)
        assert isinstance(found, StateSchema)
        (family,) = found.families
        assert (found.version, family.key, family.value) == (version, schemas[0], schemas[1])
        assert (family.name, family.encoder) == (
            (name, schemas[2]) if version == 3 else ("default", None)
        )


@some
@given(
    version=st.sampled_from([1, 2]),
    name=TEXT,
    stores=st.lists(st.tuples(TEXT, st.integers(0, 2**31), st.integers(0, 9), st.lists(TEXT))),
)
def test_operator_metadata_comes_back(
    version: int, name: str, stores: list[tuple[str, int, int, list[str]]]
) -> None:
    fields = ("storeName", "numPartitions", "numColsPrefixKey", "stateSchemaFilePaths")
    written = [dict(zip(fields, store, strict=True)) for store in stores]
    raw = writers.operator_metadata(version, name=name, stores=written)
    found = parse_operator_metadata("state/0/_metadata/metadata", None, raw)
    assert isinstance(found, OperatorMetadata)
    assert (found.version, found.name) == (version, name)
    read = [(s.name, s.partitions, s.prefix_columns, list(s.schema_paths)) for s in found.stores]
    assert read == stores


@some
@given(ssts=st.lists(st.tuples(TEXT, LONGS)), rows=LONGS)
def test_a_snapshot_of_rocksdb_comes_back(ssts: list[tuple[str, int]], rows: int) -> None:
    metadata = writers.snapshot_metadata(ssts, numKeys=rows)
    raw = writers.zip_of(("CURRENT", b"x"), ("metadata", metadata))
    found = parse_rocks_snapshot("7.zip", raw)
    assert isinstance(found, RocksSnapshot)
    assert [(file.name, file.size_bytes) for file in found.data_files] == [
        (f"SSTs/{name}", size) for name, size in ssts
    ]
    assert found.rows == (rows if rows >= 0 else None)


@some
@given(raw=st.binary(max_size=2000), piece=st.integers(1, 600), bit=st.integers(0, 15_999))
def test_checksums_fit_what_they_were_made_of_and_nothing_else(
    raw: bytes, piece: int, bit: int
) -> None:
    sidecar = parse_sidecar(".7.crc", writers.sidecar(raw, piece))
    value = struct.unpack(">i", struct.pack(">I", google_crc32c.value(raw)))[0]
    body = {"algorithm": "CRC32C", "value": value, "mainFileSize": len(raw), "timestampMs": 1}
    checksum = parse_checksum("7.delta.crc", json.dumps(body).encode())
    assert isinstance(sidecar, Sidecar)
    assert isinstance(checksum, SparkChecksum)
    assert (sidecar.fits(raw), checksum.fits(raw)) == (True, True)
    if bit < 8 * len(raw):
        flipped = Damage("flip", bit).apply(raw)
        assert (sidecar.fits(flipped), checksum.fits(flipped)) == (False, False)
    assert (sidecar.fits(raw + b"x"), checksum.fits(raw + b"x")) == (False, False)


def test_castagnolis_sum_is_the_one_that_is_published() -> None:
    checksum = SparkChecksum(algorithm="CRC32C", value=0xE3069283 - (1 << 32), size_bytes=9)
    assert checksum.fits(b"123456789") is True
    assert checksum.fits(b"123456780") is False
