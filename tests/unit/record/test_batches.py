"""Batches written down for several sinks: made once, and forgotten when all have them."""

from __future__ import annotations

from holdfast.record.batches import (
    JournalledBatch,
    forget_before,
    keep_journalled,
    read_journalled,
    rows_path,
)
from holdfast.storage.memory import MemoryStorage

D41, OTHER = "41" * 32, "77" * 32
MINE = JournalledBatch(generation=1, batch=41, digest=D41, rows=rows_path(1, 41, epoch=8))
PART = {f"{MINE.rows}/part-0.parquet": b"rows"}


def test_the_first_to_finish_is_the_one() -> None:
    record = MemoryStorage(PART)
    assert read_journalled(record, 1, 41, digest=D41, epoch=9) is None
    assert keep_journalled(record, MINE)
    late = JournalledBatch(generation=1, batch=41, digest=D41, rows=rows_path(1, 41, epoch=7))
    assert not keep_journalled(record, late)
    assert read_journalled(record, 1, 41, digest=D41, epoch=9) == MINE


def test_another_batch_of_the_same_number_is_another() -> None:
    record = MemoryStorage({})
    keep_journalled(record, MINE)
    assert read_journalled(record, 1, 41, digest=OTHER, epoch=9) is None
    assert read_journalled(record, 2, 41, digest=D41, epoch=9) is None


def test_what_is_before_is_deleted_with_its_rows_and_nothing_else() -> None:
    record = MemoryStorage({"batches/notes.txt": b"", "leases/000001.json": b""})
    for batch in (9, 40, 41):
        rows = rows_path(1, batch, epoch=8)
        record.put(f"{rows}/part-0.parquet", b"rows")
        keep_journalled(
            record, JournalledBatch(generation=1, batch=batch, digest=f"{batch:064d}", rows=rows)
        )
    record.put(f"{rows_path(1, 40, epoch=7)}/part-0.parquet", b"of a driver that was replaced")
    forget_before(record, 1, 41)
    kept = sorted(info.path for info in record.walk())
    assert kept == [
        "batches/0001-000041-d0000000000000000.json",
        "batches/0001-000041-e8/part-0.parquet",
        "batches/notes.txt",
        "leases/000001.json",
    ]
    forget_before(record, 2, 7)  # an undo goes back to the generation before
    assert sorted(info.path for info in record.walk()) == kept
    forget_before(record, 3, 0)
    assert [info.path for info in record.walk("batches")] == ["batches/notes.txt"]
