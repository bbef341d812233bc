"""What the record keeps of the files that were read is what the sinks have got."""

from __future__ import annotations

import pytest

from holdfast.record import input_files
from holdfast.record.input_files import (
    InputFile,
    keep_input_files,
    merge_input_files,
    read_input_files,
)
from holdfast.storage.memory import MemoryStorage


def keep(record: MemoryStorage, batch: int, *paths: str) -> None:
    files = {"0": [InputFile(batch, 1, path) for path in paths]}
    keep_input_files(record, files, generation=1, batch=batch)


def kept(record: MemoryStorage) -> list[tuple[int, str]]:
    found = read_input_files(record, generation=1, source="0")
    return sorted((each.log_offset, each.path) for each in found)


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    monkeypatch.setattr(input_files, "MOST_FILES", 1)
    made = MemoryStorage({})
    keep(made, 0, "a")
    keep(made, 1, "b", "c")  # no sink has taken it
    return made


def test_a_batch_that_is_planned_again_counts_as_it_was_planned_last(
    record: MemoryStorage,
) -> None:
    """Else a resume would read `d` again, and never read `c`."""
    keep(record, 1, "b", "d")
    assert kept(record) == [(0, "a"), (1, "b"), (1, "d")]


def test_also_if_it_was_merged_before(record: MemoryStorage) -> None:
    merge_input_files(record, generation=1)
    assert kept(record) == [(0, "a"), (1, "b"), (1, "c")]
    keep(record, 1, "b", "d")
    assert kept(record) == [(0, "a"), (1, "b"), (1, "d")]
    merge_input_files(record, generation=1)
    assert kept(record) == [(0, "a"), (1, "b"), (1, "d")]


def test_a_merge_that_was_killed_before_it_removed_anything_says_the_same(
    record: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kept(record)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryStorage, "delete", lambda *_: None)
        merge_input_files(record, generation=1)
    assert kept(record) == before
    merge_input_files(record, generation=1)
    assert kept(record) == before
    assert len(record.list("inputs").files) == 1
