"""Which batch has read which part of a source, and so by which watermark a row was late."""

from __future__ import annotations

from holdfast.ledger.batch_history import PlannedBatch
from holdfast.sources.files.kind import FileOffset
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.sources.reading import NoBatchForm
from holdfast.storage.memory import MemoryStorage
from holdfast.streams.late_tags import file_times, kafka_spans

FILE = b'v1\n{"path":"file:///in/%s","timestamp":5,"batchId":%d}\n'


def topic(batch: int, late_ms: int, offsets: dict[int, int] | None) -> PlannedBatch:
    ends = {} if offsets is None else {"0": KafkaOffset(partitions={"t": offsets})}
    return PlannedBatch(batch_id=batch, late_ms=late_ms, watermark_ms=late_ms, ends=ends)


def files(batch: int, late_ms: int, number: int) -> PlannedBatch:
    ends = {"0": FileOffset(log_offset=number)}
    return PlannedBatch(batch_id=batch, late_ms=late_ms, watermark_ms=late_ms, ends=ends)


def test_every_offset_is_in_one_span() -> None:
    found = KafkaRange(start={"t": {0: 5, 1: 0}}, end={"t": {0: 9, 1: 4}})
    history = [
        topic(0, 0, None),
        topic(1, 10, {0: 7}),
        topic(2, 20, {0: 7, 1: 1}),  # the second partition was added later
        topic(3, 30, {0: 9, 1: 4}),
    ]
    assert kafka_spans(found, "0", history) == [
        ("t", 0, 5, 7, 10),
        ("t", 0, 7, 9, 30),
        ("t", 1, 0, 1, 20),
        ("t", 1, 1, 4, 30),
    ]


def test_each_file_has_the_time_of_the_batch_that_read_it() -> None:
    storage = MemoryStorage(
        {
            "sources/0/0": FILE % (b"a", 0),
            "sources/0/1": FILE % (b"b%20c", 1),
            "sources/0/2": FILE % (b"d", 2),
        }
    )
    history = [files(0, 0, 0), files(1, 0, 0), files(2, 10, 1), files(3, 20, 2)]
    assert file_times(storage, "0", history) == {"in/a": 0, "in/b%20c": 10, "in/d": 20}
    # A file that no batch of the table has read is not asked for.
    assert file_times(storage, "0", history[:3]) == {"in/a": 0, "in/b%20c": 10}


def test_a_log_of_files_that_cannot_be_read_is_named() -> None:
    storage = MemoryStorage({"sources/0/0": b"rubbish"})
    assert isinstance(file_times(storage, "0", [files(0, 0, 0)]), NoBatchForm)
    assert isinstance(file_times(MemoryStorage({}), "0", [files(0, 0, 0)]), NoBatchForm)
