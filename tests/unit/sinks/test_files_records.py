"""What the files sink reads back: names, tokens, records and notes; hostile ones are no error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.ids import BatchId
from holdfast.ledger import Apply, LedgerRow, Reason, Refuse, Skip
from holdfast.ledger.output import CannotSettleError, EmptyOutput, KeepOutput
from holdfast.ledger.store import Unreadable
from holdfast.sinks.files.layout import BatchName, Token, parse_batch, parse_token
from holdfast.sinks.files.record import (
    BatchNote,
    Record,
    Span,
    decode_note,
    decode_record,
    encode_note,
    encode_record,
    spans_of,
)
from holdfast.sinks.table_changed import TableChangedError
from tests.ledger_rows import ROW
from tests.unit.sinks import files_on_disk
from tests.unit.sinks.files_on_disk import Driver, Lake, all_rows, opened

without_spark = files_on_disk.without_spark


def test_a_name_is_parsed_to_what_it_was_made_of() -> None:
    batch, token = BatchName("a-b", 2, 41), Token(8, "0" * 32)
    assert parse_batch(str(batch)) == batch
    assert parse_token(str(token)) == token


@pytest.mark.parametrize(
    "name",
    [
        "hf_batch=a.1.41",
        "hf_batch=a.01.000000041",
        "hf_batch=a.1.0000000041",
        "hf_batch=a.1.000000041.copy",
        "hf_batch=a/b.1.000000041",
        "hf_batch=.1.000000041",
        "token.000000001.xyz",
        "token.1.00000000000000000000000000000000",
        "_temporary",
        "",
    ],
)
def test_another_name_is_none_of_ours(name: str) -> None:
    assert parse_batch(name) is None
    assert parse_token(name) is None


def test_records_and_notes_come_back() -> None:
    record = Record(row=ROW, format="csv", live=(Span(1, 0, 4),), aside="a", back="b")
    assert decode_record(encode_record(record)[1]) == record
    batch = BatchName("readings", 1, 3)
    row = replace(ROW, last_batch=BatchId(3), digest="d3")
    note = BatchNote(row=row, files={"part-0": 17}, columns={"id": "bigint"})
    assert decode_note(encode_note(note), batch) == note
    assert decode_note(encode_note(note), BatchName("readings", 1, 4)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"format": "other"},
        {"files": None},
        {"live": [[1, 2]]},
        {"live": "all"},
        {"opened": [[1, 2, "x"]]},
        {"aside": 1},
        {"epoch": "8"},
    ],
)
def test_a_damaged_record_is_none(change: dict[str, object]) -> None:
    values = json.loads(encode_record(Record(row=ROW, format="csv"))[1])
    assert decode_record(json.dumps({**values, **change}).encode()) is None
    assert decode_record(b"\xff{") is None


def test_spans_join_what_follows() -> None:
    names = [BatchName("a", generation, batch) for generation, batch in ((1, 0), (1, 1), (2, 2))]
    assert spans_of(reversed(names)) == (Span(1, 0, 1), Span(2, 2, 2))


def test_a_ledger_with_two_tokens_or_none_is_unreadable(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert Driver(lake, epoch=1).live()
    home = tmp_path / ".readings.holdfast" / "readings"
    token = next(home.glob("token.*"))
    (home / f"token.000000009.{'0' * 32}").mkdir()
    assert isinstance(lake.ledger().read("readings"), Unreadable)
    (home / f"token.000000009.{'0' * 32}").rmdir()
    token.rmdir()
    assert isinstance(lake.ledger().read("readings"), Unreadable)


def test_a_batch_copied_to_another_name_is_not_believed(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert Driver(lake, epoch=1).live()
    last = tmp_path / "readings" / str(BatchName("readings", 1, 2))
    last.with_name(str(BatchName("readings", 1, 3))).mkdir()
    assert isinstance(lake.ledger().read("readings"), Unreadable)


def test_the_same_batch_is_skipped_and_another_of_its_number_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    driver = Driver(lake, epoch=1)
    row = driver.start()
    assert row is not None
    assert driver.write(row, 0) == Apply()
    assert driver.write(row, 0) == Skip()
    assert driver.write(row, 2) == Refuse(Reason.GAP)
    assert lake.seen() == all_rows(batches=1)


def test_a_batch_deleted_while_the_stream_runs_refuses_the_next(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    driver = Driver(lake, epoch=1)
    row = driver.start()
    assert row is not None
    driver.write(row, 0)
    batch = tmp_path / "readings" / str(BatchName("readings", 1, 0))
    batch.rename(tmp_path / "gone")
    with pytest.raises(TableChangedError, match="batch 0 is not there any more"):
        driver.write(row, 1)
    (tmp_path / "readings").rmdir()
    with pytest.raises(TableChangedError, match="the directory was deleted"):
        driver.write(row, 1)
    assert not (tmp_path / "readings").exists()


def test_a_plan_that_saw_something_else_changes_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert Driver(lake, epoch=1).live()
    ledger = lake.ledger()
    row = ledger.read("readings")
    assert isinstance(row, LedgerRow)
    new = opened(row, epoch=2)
    output = EmptyOutput(kept="holdfast.kept_one")
    with pytest.raises(CannotSettleError, match="changed since"):
        ledger.settle(row, new, output, seen="other")
    with pytest.raises(CannotSettleError, match="not the name"):
        ledger.settle(row, new, EmptyOutput(kept="../.."))
    back = replace(row, last_batch=BatchId(0), epoch=2)
    with pytest.raises(CannotSettleError, match="used again"):
        ledger.settle(row, back, KeepOutput())
    assert lake.seen() == all_rows()
    assert ledger.read("readings") == row


def test_what_no_sink_can_be_is_refused(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [{"format": "orc"}, {"partition_by": "day"}, {"max_files": 0}]
    for given in wrong:
        with pytest.raises(ConfigError):
            hf.Files(str(tmp_path), **given)
    ledger = hf.Files("s3://lake/readings").open_ledger()
    found = None if ledger is None else ledger.read("readings")
    assert isinstance(found, Unreadable)
    assert "s3://. Use hf.Delta" in found.why
    assert hf.Files("/lake/readings/").label == "readings"
    assert SimpleNamespace(name="readings").name == hf.Files("lake/readings").name
