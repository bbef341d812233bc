"""Files of the logs that another driver left half made: what a start moves aside, and what not."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from holdfast.checkpoint.read import read_checkpoint
from holdfast.record.layout import REMOVED
from holdfast.storage.location import parse_location
from holdfast.storage.write import Writer, open_writer
from holdfast.streams.orphan import move_drafts_aside, move_orphans_aside

DRAFT = f"{UUID(int=7)}.tmp"
OFFSETS = b'v1\n{"batchWatermarkMs":0}\n{"logOffset":0}'


@pytest.fixture
def there(tmp_path: Path) -> Writer:
    return open_writer(parse_location(str(tmp_path / "checkpoint")))


@pytest.fixture
def record(tmp_path: Path) -> Writer:
    return open_writer(parse_location(str(tmp_path / "record")))


def run_batches(there: Writer, batches: int) -> None:
    """Leave what so many batches of a source of files leave."""
    for batch in range(batches):
        there.put(f"offsets/{batch}", OFFSETS)
        there.put(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')
        there.put(f"sources/0/{batch}", b"v1\n")


def leave(there: Writer, path: str) -> None:
    """Leave a draft, with its checksum."""
    directory, name = path.rsplit("/", 1)
    there.put(path, f"of {path}".encode())
    there.put(f"{directory}/.{name}.crc", b"crc")


def files(writer: Writer) -> dict[str, bytes | None]:
    return {info.path: writer.read(info.path) for info in writer.walk("")}


def test_what_would_decide_the_range_of_a_batch_is_moved_aside(
    there: Writer, record: Writer
) -> None:
    run_batches(there, 3)
    before = files(there)
    drafts = [f"offsets/.3.{DRAFT}", f"offsets/.2.{UUID(int=8)}.tmp", f"sources/0/.3.{DRAFT}"]
    for path in drafts:
        leave(there, path)
    move_drafts_aside(read_checkpoint(there), there, record)
    assert files(there) == before
    assert set(files(record).values()) == {f"of {path}".encode() for path in drafts}
    assert all(path.startswith(REMOVED) for path in files(record))


def test_after_the_first_batch_what_decides_nothing_stays(there: Writer, record: Writer) -> None:
    run_batches(there, 1)
    for path in (f"commits/.1.{DRAFT}", f"state/0/0/.2.delta.{DRAFT}", f".metadata.{DRAFT}"):
        there.put(path, b"draft")
    there.put("offsets/note.txt", b"of a person")
    before = files(there)
    assert not move_orphans_aside(read_checkpoint(there), there, record)
    move_drafts_aside(read_checkpoint(there), there, record)
    assert files(there) == before
    assert not files(record)


def test_what_cannot_be_moved_stays_and_stops_no_start(
    there: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_batches(there, 1)
    leave(there, f"offsets/.1.{DRAFT}")
    before = files(there)
    (tmp_path / "taken").write_text("a file, where the record should be")
    taken = open_writer(parse_location(str(tmp_path / "taken")))
    move_drafts_aside(read_checkpoint(there), there, taken)
    assert files(there) == before
    assert "left half made stays" in caplog.text


def test_a_copy_that_is_not_the_same_leaves_the_file_and_is_said(
    there: Writer,
    record: Writer,
    *,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run_batches(there, 1)
    leave(there, f"offsets/.1.{DRAFT}")
    before = files(there)
    monkeypatch.setattr(record, "read", lambda _: b"other")
    move_drafts_aside(read_checkpoint(there), there, record)
    assert files(there) == before
    assert "left half made stays" in caplog.text


def test_before_the_first_batch_all_that_stops_spark_is_moved_aside(
    there: Writer, record: Writer
) -> None:
    there.put("metadata", b'{"id":"x"}')
    for path in (f"offsets/.0.{DRAFT}", f"commits/.0.{UUID(int=8)}.tmp"):
        leave(there, path)
    assert move_orphans_aside(read_checkpoint(there), there, record)
    assert set(files(there)) == {"metadata"}
    assert len(files(record)) == 2
