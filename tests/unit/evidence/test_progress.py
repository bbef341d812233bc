from __future__ import annotations

import pytest

from holdfast.checkpoint import Checkpoint, read_checkpoint
from holdfast.evidence.progress import find_progress, find_ranges
from holdfast.ids import BatchId
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.kind import Amount
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import ARCHIVES, open_archive

LINE = b'v1\n{"batchWatermarkMs":%d,"batchTimestampMs":%d,"conf":{}}\n%s'


def make(offsets: dict[int, bytes], commits: dict[int, bytes], **more: bytes) -> Checkpoint:
    files = {"metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}', **more}
    files |= {f"offsets/{batch}": LINE % (0, batch, text) for batch, text in offsets.items()}
    files |= {f"commits/{batch}": text for batch, text in commits.items()}
    return read_checkpoint(MemoryStorage(files))


KAFKA = {
    3: b'{"sensors":{"0":10,"1":20}}',
    4: b'{"sensors":{"0":15,"1":27}}',
}


def test_a_pending_kafka_batch_has_its_records_counted() -> None:
    progress = find_progress(make(KAFKA, {3: b"v1\n{}"}))
    (source,) = progress.sources
    assert (progress.planned, progress.committed, progress.pending) == ((3, 4), (3,), (4,))
    assert source.amount == Amount(number=12, unit="record")
    assert progress.newest_ms == 4


def test_an_entry_whose_predecessor_is_gone_has_no_amount() -> None:
    """Where the source first began must not be taken for where the oldest kept batch began."""
    began = {"sources/0/0": b'\0v1\n{"sensors":{"0":0,"1":0}}'}
    checkpoint = make({4: KAFKA[4]}, {4: b"v1\n{}"}, **began)
    (source,) = find_ranges(checkpoint, BatchId(4))
    assert (source.start, source.amount) == (None, None)
    assert isinstance(source.end, KafkaOffset)


def test_the_first_batch_begins_where_the_kafka_source_first_began() -> None:
    began = {"sources/0/0": b'\0v1\n{"sensors":{"0":9,"1":20}}'}
    (source,) = find_ranges(make({0: KAFKA[3]}, {}, **began), BatchId(0))
    assert source.amount == Amount(number=1, unit="record")


def test_a_partition_that_is_new_in_the_batch_makes_the_amount_unknown() -> None:
    more = {3: b'{"sensors":{"0":10}}', 4: KAFKA[4]}
    assert find_progress(make(more, {3: b"v1\n{}"})).sources[0].amount is None


def test_the_watermark_is_that_of_the_next_batch() -> None:
    files = {
        "offsets/3": LINE % (5, 3, b"7"),
        "commits/3": b'v1\n{"nextBatchWatermarkMs":9}',
    }
    assert find_progress(read_checkpoint(MemoryStorage(files))).watermark_ms == 9
    del files["commits/3"]
    assert find_progress(read_checkpoint(MemoryStorage(files))).watermark_ms == 5


def test_a_rewind_needs_the_entry_before_and_the_commit() -> None:
    offsets = {3: b"1", 5: b"2", 6: b"3", 7: b"4"}
    commits = {3: b"v1\n{}", 5: b"v1\n{}", 6: b"v1\n{}"}
    assert find_progress(make(offsets, commits)).rewind == (6,)


@pytest.mark.parametrize("lost", ["1.delta", "3.delta"])
def test_a_rewind_needs_the_state_after_the_batch(lost: str) -> None:
    archive = open_archive("4.2-killed-commits")
    whole = read_checkpoint(archive.checkpoint)
    assert find_progress(whole).rewind == (0, 1)
    files = {path: raw for path, raw in archive.checkpoint.files.items() if f"/{lost}" not in path}
    rewind = find_progress(read_checkpoint(MemoryStorage(files))).rewind
    assert rewind == (() if lost == "1.delta" else (0, 1))


@pytest.mark.parametrize("name", [name for name in ARCHIVES if name.endswith("-purged")])
def test_what_was_purged_cannot_be_rewound_to(name: str) -> None:
    checkpoint = read_checkpoint(open_archive(name).checkpoint)
    rewind = find_progress(checkpoint).rewind
    assert rewind
    assert min(rewind) > 0
    assert set(rewind) <= set(checkpoint.commits)
