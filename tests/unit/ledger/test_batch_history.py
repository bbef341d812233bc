"""By which watermark each batch dropped late rows, from the offset log."""

from __future__ import annotations

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ledger.batch_history import History, is_late_everywhere_alike, read_history
from holdfast.sources.files.kind import FileOffset
from holdfast.storage.memory import MemoryStorage

ENTRY = b'v1\n{"batchWatermarkMs":%d,"batchTimestampMs":1,"conf":{}}\n{"logOffset":%d}'


def log(*watermarks: int, first: int = 0) -> MemoryStorage:
    entries = enumerate(watermarks, start=first)
    return MemoryStorage({f"offsets/{batch}": ENTRY % (ms, batch) for batch, ms in entries})


def known(storage: MemoryStorage, *, first: int = 0, last: int) -> History:
    found = read_history(storage, first=first, last=last)
    assert isinstance(found, History), found
    return found


def late(found: History) -> list[tuple[int, int, int]]:
    return [(each.batch_id, each.late_ms, each.watermark_ms) for each in found.batches]


def test_rows_are_late_by_the_watermark_of_the_batch_before() -> None:
    found = known(log(0, 10, 25, 25), last=3)
    assert late(found) == [(0, 0, 0), (1, 0, 10), (2, 10, 25), (3, 25, 25)]
    assert found.unknown_until_ms is None
    assert found.closed_ms == 25
    assert found.batches[2].ends == {"0": FileOffset(log_offset=2)}
    assert not is_late_everywhere_alike(found.batches)
    assert is_late_everywhere_alike(found.batches[:2])


def test_a_batch_that_the_table_does_not_hold_is_not_in_it() -> None:
    assert late(known(log(0, 10, 25), last=1)) == [(0, 0, 0), (1, 0, 10)]


def test_a_seeded_entry_gives_the_watermark_of_the_first_batch() -> None:
    found = known(log(7, 10, 25, first=4), first=5, last=6)
    assert late(found) == [(5, 7, 10), (6, 10, 25)]
    assert found.unknown_until_ms is None


def test_the_oldest_entry_that_is_left_stands_for_all_before_it() -> None:
    found = known(log(40, 50, 60, first=7), last=9)
    assert late(found) == [(7, 40, 40), (8, 40, 50), (9, 50, 60)]
    assert found.unknown_until_ms == 40


def test_the_seeded_entry_is_gone() -> None:
    found = known(log(40, 50, first=5), first=5, last=6)
    assert late(found) == [(5, 40, 40), (6, 40, 50)]
    assert found.unknown_until_ms == 40


def test_a_watermark_below_zero_is_none() -> None:
    assert late(known(log(-5, 10), last=1)) == [(0, 0, 0), (1, 0, 10)]


def test_an_entry_that_is_missing_or_damaged_is_named() -> None:
    storage = log(0, 10, 25)
    for content in (b"v1\n", b"v1\n\n{}", b"rubbish"):
        storage.files["offsets/1"] = content
        found = read_history(storage, first=0, last=2)
        assert isinstance(found, Unparsed)
        assert found.path == "offsets/1"
    del storage.files["offsets/1"]
    assert isinstance(read_history(storage, first=0, last=2), Unparsed)
    assert isinstance(read_history(MemoryStorage({}), first=0, last=2), Unparsed)
