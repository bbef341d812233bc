"""What we read of checkpoints that real Spark wrote is what Spark itself says of them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from holdfast.checkpoint import (
    Checkpoint,
    CommitEntry,
    OffsetEntry,
    QueryMetadata,
    Unparsed,
    read_checkpoint,
)
from holdfast.checkpoint.layout import Kind, parse_name
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.sources.files.kind import FileOffset
from holdfast.sources.kafka.kind import KafkaOffset, parse_initial_offset
from holdfast.sources.kind import StartTime
from holdfast.sources.rate.kind import NUMBER
from holdfast.sources.registry import parse_offset
from holdfast.sources.unknown.kind import OpaqueOffset
from holdfast.spark_versions import SUPPORTED
from holdfast.storage.read import read_chunks
from tests.unit.checkpoint.archives import ARCHIVES, Archive, open_archive


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest) -> Archive:
    return open_archive(request.param)


@pytest.fixture
def checkpoint(archive: Archive) -> Checkpoint:
    return read_checkpoint(archive.checkpoint)


def offsets_of(checkpoint: Checkpoint) -> dict[int, OffsetEntry]:
    entries = checkpoint.offsets.items()
    return {batch: entry for batch, entry in entries if isinstance(entry, OffsetEntry)}


def test_there_are_archives_of_every_version() -> None:
    assert {name.split("-")[0] for name in ARCHIVES} == set(SUPPORTED)


def test_every_entry_is_understood_and_nothing_is_foreign(checkpoint: Checkpoint) -> None:
    assert (checkpoint.unparsed, checkpoint.foreign) == ((), ())
    assert checkpoint.offsets


def test_the_query_id_is_sparks(archive: Archive, checkpoint: Checkpoint) -> None:
    assert isinstance(checkpoint.metadata, QueryMetadata)
    assert checkpoint.metadata.query_id == archive.answers["queryId"]


def test_end_offsets_are_what_spark_reported(archive: Archive, checkpoint: Checkpoint) -> None:
    compared = 0
    for batch, entry in offsets_of(checkpoint).items():
        if batch not in archive.batches:
            continue
        reported = Counter(
            json.dumps(source["endOffset"], sort_keys=True)
            for source in archive.batches[batch]["sources"]
            if source["endOffset"] is not None
        )
        read = Counter(
            json.dumps(json.loads(source.text), sort_keys=True)
            for source in entry.offsets
            if source.text is not None
        )
        assert read == reported, batch
        compared += 1
    assert compared or not archive.batches


def test_a_batch_spark_reported_as_done_has_a_commit_entry(
    archive: Archive, checkpoint: Checkpoint
) -> None:
    if "async" in archive.name:
        pytest.skip("with async progress tracking Spark does not commit every batch")
    if not checkpoint.commits:
        assert not archive.batches
        return
    oldest_kept = min(checkpoint.commits)
    done = {batch for batch in archive.batches if batch >= oldest_kept}
    assert done <= checkpoint.commits.keys()


def test_the_next_watermark_of_a_commit_is_the_watermark_of_the_next_offset_entry(
    checkpoint: Checkpoint,
) -> None:
    following = offsets_of(checkpoint)
    for batch, commit in checkpoint.commits.items():
        after = following.get(batch + 1)
        if isinstance(commit, CommitEntry) and after is not None and after.metadata is not None:
            assert commit.next_watermark_ms == after.metadata.batch_watermark_ms


def test_the_kind_of_source_is_known_by_the_offset(
    archive: Archive, checkpoint: Checkpoint
) -> None:
    expected = {"file-source": FileOffset, "kafka": KafkaOffset}
    case = archive.name.split("-", 1)[1]
    texts = [source.text for entry in offsets_of(checkpoint).values() for source in entry.offsets]
    kinds = {type(parse_offset(text)) for text in texts if text is not None}
    if case in expected:
        assert kinds == {expected[case]}
    if case != "continuous":
        assert OpaqueOffset not in kinds


def test_every_source_log_is_read_whole(archive: Archive) -> None:
    for info in archive.checkpoint.walk("sources"):
        if parse_name(info.path).kind not in (Kind.ENTRY, Kind.COMPACT):
            continue
        raw = archive.checkpoint.read(info.path) or b""
        if raw.startswith(b"\0"):
            assert isinstance(parse_initial_offset(info.path, raw), KafkaOffset)
        elif raw[3:].isdigit():
            assert isinstance(NUMBER.parse_beginning(info.path, raw), StartTime)
        else:
            entries = list(parse_file_log(info.path, read_chunks(archive.checkpoint, info.path)))
            assert all(isinstance(entry, FileEntry) for entry in entries), info.path


def test_an_entry_cut_off_anywhere_is_a_value(archive: Archive) -> None:
    """Every prefix of every log entry, through the parser that reads it."""
    for info in archive.checkpoint.walk():
        directory = info.path.split("/")[0]
        if directory not in ("offsets", "commits") or parse_name(info.path).kind is not Kind.ENTRY:
            continue
        raw = archive.checkpoint.files[info.path]
        for length in range(0, len(raw), max(1, len(raw) // 40)):
            cut = read_checkpoint(type(archive.checkpoint)({info.path: raw[:length]}))
            log = cut.offsets if directory == "offsets" else cut.commits
            (entry,) = log.values()
            assert isinstance(entry, OffsetEntry | CommitEntry | Unparsed)
        return  # one entry of each archive: there are many archives
