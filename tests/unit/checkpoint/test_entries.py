from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.commits import CommitEntry, NamedSink, parse_commit_entry
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.offsets import (
    OffsetEntry,
    OffsetMetadata,
    SourceOffset,
    parse_offset_entry,
)
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId, QueryId

BATCH = BatchId(7)
METADATA = (
    b'{"batchWatermarkMs":5,"batchTimestampMs":9,"conf":{"spark.sql.shuffle.partitions":"2"}}'
)
PARSED = OffsetMetadata(
    batch_watermark_ms=5, batch_timestamp_ms=9, conf={"spark.sql.shuffle.partitions": "2"}
)


def offsets(raw: bytes) -> OffsetEntry | Unparsed:
    return parse_offset_entry("offsets/7", BATCH, raw)


def commit(raw: bytes) -> CommitEntry | Unparsed:
    return parse_commit_entry("commits/7", BATCH, raw)


def reason(found: object) -> str:
    assert isinstance(found, Unparsed)
    return found.reason


def test_offsets_of_version_1_are_positional() -> None:
    assert offsets(b"v1\n" + METADATA + b'\n{"logOffset":3}\n-') == OffsetEntry(
        batch_id=BATCH,
        version=1,
        metadata=PARSED,
        offsets=(
            SourceOffset(source="0", text='{"logOffset":3}'),
            SourceOffset(source="1", text=None),
        ),
    )


def test_offsets_of_version_2_are_named_up_to_the_first_colon() -> None:
    found = offsets(b"v2\n" + METADATA + b'\nfiles:{"logOffset":3}\n0:7\n1:-')
    assert isinstance(found, OffsetEntry)
    assert found.offsets == (
        SourceOffset(source="files", text='{"logOffset":3}'),
        SourceOffset(source="0", text="7"),
        SourceOffset(source="1", text=None),
    )


def test_an_empty_metadata_line_is_continuous_processing_and_only_in_version_1() -> None:
    found = offsets(b"v1\n\n5")
    assert isinstance(found, OffsetEntry)
    assert found.metadata is None
    assert reason(offsets(b"v2\n\n0:5")) == "line 2 is empty, which only version v1 allows"


def test_an_offset_entry_that_is_cut_off_says_where() -> None:
    assert reason(offsets(b"v1")) == "it ends after the version line"
    assert reason(offsets(b"v1\n" + METADATA[:-5])) == "line 2 is not a JSON object"
    assert reason(offsets(b"v2\n" + METADATA + b"\n7")) == "line 3 has no source id before a colon"


def test_metadata_with_other_types_than_sparks_is_not_guessed_at() -> None:
    expected = "line 2 has a field of another type than Spark writes"
    assert reason(offsets(b'v1\n{"batchWatermarkMs":"5"}\n5')) == expected
    assert reason(offsets(b'v1\n{"conf":[]}\n5')) == expected
    assert reason(offsets(b'v1\n{"conf":{"a":1}}\n5')) == expected


def test_fields_that_are_absent_have_sparks_defaults_and_unknown_ones_are_ignored() -> None:
    found = offsets(b'v1\n{"newField":1}\n5')
    assert isinstance(found, OffsetEntry)
    assert found.metadata == OffsetMetadata(batch_watermark_ms=0, batch_timestamp_ms=0, conf={})


def test_a_commit_entry_of_each_version_is_read() -> None:
    first = commit(b'v1\n{"nextBatchWatermarkMs":3}')
    assert isinstance(first, CommitEntry)
    assert (first.version, first.next_watermark_ms, first.state_ids) == (1, 3, None)
    second = commit(b'v2\n{"nextBatchWatermarkMs":3,"stateUniqueIds":{"0":[["a"],["b"]]}}')
    assert isinstance(second, CommitEntry)
    assert second.state_ids == {"0": (("a",), ("b",))}
    third = commit(b'v3\n{"sinkMetadataMap":{"s":{"isActive":true}}}')
    assert isinstance(third, CommitEntry)
    assert third.sinks == (NamedSink(name="s", provider=None, is_active=True),)


def test_a_commit_entry_may_end_after_its_version() -> None:
    found = commit(b"v1")
    assert isinstance(found, CommitEntry)
    assert found.next_watermark_ms is None


def test_a_commit_entry_that_is_not_one_says_why() -> None:
    assert reason(commit(b"")) == "the file is empty"
    assert reason(commit(b"v1\n{")) == "line 2 is not a JSON object"
    assert reason(commit(b"v1\n[]")) == "line 2 is not a JSON object"
    assert reason(commit(b'v1\n{"nextBatchWatermarkMs":"x"}')).startswith("nextBatchWatermarkMs")
    for ids in (b"[]", b'{"0":1}', b'{"0":[1]}', b'{"0":[[1]]}'):
        assert reason(commit(b'v2\n{"stateUniqueIds":' + ids + b"}")).startswith("stateUniqueIds")
    for sinks in (b"[]", b'{"s":1}'):
        assert reason(commit(b'v3\n{"sinkMetadataMap":' + sinks + b"}")).startswith("sinkMetadata")


def test_metadata_holds_the_query_id() -> None:
    assert parse_metadata(
        "metadata", b'{"id":"6f0c0000-0000-4000-8000-000000000000"}'
    ) == QueryMetadata(query_id=QueryId("6f0c0000-0000-4000-8000-000000000000"))


def test_metadata_without_an_id_says_why() -> None:
    reasons = {
        b"": "the file is empty",
        b" \n": "the file is empty",
        b"{": "it is not a JSON object",
        b"[]": "it is not a JSON object",
        b"\xff": "it is not UTF-8 text",
        b"{}": 'it has no "id" that is a string',
        b'{"id":7}': 'it has no "id" that is a string',
        b'{"id":""}': 'it has no "id" that is a string',
    }
    for raw, expected in reasons.items():
        assert reason(parse_metadata("metadata", raw)) == expected


near_misses = st.one_of(
    st.binary(),
    st.builds(
        lambda version, line, rest: b"v%d\n" % version + line + b"\n" + rest,
        st.integers(0, 4),
        st.one_of(st.just(METADATA), st.binary()),
        st.binary(),
    ),
)


@given(near_misses)
def test_no_bytes_make_a_parser_raise(raw: bytes) -> None:
    assert isinstance(offsets(raw), OffsetEntry | Unparsed)
    assert isinstance(commit(raw), CommitEntry | Unparsed)
    assert isinstance(parse_metadata("metadata", raw), QueryMetadata | Unparsed)
