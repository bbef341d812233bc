"""A file of record batches: whatever is put is taken, and the file is as long as what waits."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow as pa
import pytest

from holdfast.sinks.spill import Spill, Spilled


def numbers(count: int) -> Any:
    return pa.record_batch([pa.array(range(count)), pa.array([None] * count, pa.string())], "ab")


def test_a_reader_beside_the_writer_gets_everything_in_turn() -> None:
    spill, places = Spill(), SimpleQueue[Spilled]()
    sent = [numbers(count) for count in (0, 1, 7, 1_000) * 50]

    def put() -> None:
        for each in sent:
            places.put(spill.put(each))

    writer = threading.Thread(target=put)
    writer.start()
    taken = [spill.take(places.get()) for _ in sent]
    writer.join()
    spill.close()
    assert taken == sent


def test_a_slice_is_put_as_what_it_shows() -> None:
    spill = Spill()
    part = numbers(10).slice(3, 4)
    assert spill.take(spill.put(part)) == part
    spill.close()


def test_the_file_begins_again_once_all_was_taken() -> None:
    spill = Spill()
    first, second = spill.put(numbers(5)), spill.put(numbers(5))
    assert second.at == first.size
    spill.take(first)
    assert spill.put(numbers(5)).at == second.at + second.size
    spill.take(second)
    third = Spilled(second.at + second.size, second.size, second.schema, second.nbytes)
    assert spill.take(third) == numbers(5)
    assert spill.put(numbers(5)).at == 0
    spill.close()


def test_the_file_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spill = Spill()
    spill.put(numbers(5))
    assert list(tmp_path.iterdir()) == []
    spill.close()


def test_a_file_that_gives_less_than_was_written_is_an_error() -> None:
    spill = Spill()
    one = spill.put(numbers(5))
    assert spill._file is not None
    os.truncate(spill._file, one.size - 1)
    with pytest.raises(OSError, match="fewer are there"):
        spill.take(one)
    spill.close()
