"""What the files sink reads back: names, tokens, records and notes; hostile ones are no error."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.ids import BatchId
from holdfast.ledger import Apply, LedgerRow, Reason, Refuse, Skip
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    KeepOutput,
    Output,
    RestoreOutput,
)
from holdfast.ledger.store import Since, Unreadable
from holdfast.record.contracts import SinkContract
from holdfast.sinks import session
from holdfast.sinks.files.layout import BatchName, Token, parse_batch, parse_token
from holdfast.sinks.files.ledger import FilesLedgerStore
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
from holdfast.sinks.files.target import check_target
from holdfast.sinks.kinds import sink_of
from holdfast.sinks.table_changed import TableChangedError
from holdfast.storage.move_local import LocalMover
from holdfast.storage.read import Listing
from tests.ledger_rows import ROW
from tests.stand_ins import stand_in
from tests.unit.sinks import files_on_disk
from tests.unit.sinks.files_on_disk import DiskLake, Driver, all_rows, opened

without_spark = files_on_disk.without_spark
pytestmark = pytest.mark.usefixtures("without_spark")


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
    lake = DiskLake(tmp_path)
    assert Driver(lake, epoch=1).live()
    home = tmp_path / ".readings.holdfast" / "readings"
    token = next(home.glob("token.*"))
    (home / f"token.000000009.{'0' * 32}").mkdir()
    assert isinstance(lake.ledger().read("readings"), Unreadable)
    (home / f"token.000000009.{'0' * 32}").rmdir()
    token.rmdir()
    assert isinstance(lake.ledger().read("readings"), Unreadable)


def test_a_batch_copied_to_another_name_is_not_believed(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
    assert Driver(lake, epoch=1).live()
    last = tmp_path / "readings" / str(BatchName("readings", 1, 2))
    last.with_name(str(BatchName("readings", 1, 3))).mkdir()
    assert isinstance(lake.ledger().read("readings"), Unreadable)


def test_the_same_batch_is_skipped_and_another_of_its_number_refused(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
    driver = Driver(lake, epoch=1)
    row = driver.start()
    assert row is not None
    assert driver.write(row, 0) == Apply()
    assert driver.write(row, 0) == Skip()
    assert driver.write(row, 2) == Refuse(Reason.GAP)
    assert lake.seen() == all_rows(batches=1)


def test_a_batch_deleted_while_the_stream_runs_refuses_the_next(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
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


def after_a_life(home: Path) -> tuple[DiskLake, FilesLedgerStore, LedgerRow]:
    """Return a directory with all batches of one driver, its ledger and the row in it."""
    lake = DiskLake(home)
    assert Driver(lake, epoch=1).live()
    ledger = lake.ledger()
    row = ledger.read("readings")
    assert isinstance(row, LedgerRow)
    return lake, ledger, row


def test_a_plan_that_saw_something_else_changes_nothing(tmp_path: Path) -> None:
    lake, ledger, row = after_a_life(tmp_path)
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
    assert hf.Files("/lake/readings/").label == "readings"
    assert SimpleNamespace(name="readings").name == hf.Files("lake/readings").name


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("s3://lake/readings", "this is s3://. Use hf.Delta or hf.Iceberg there"),
        ("s3a://lake/readings", "this is s3://. Use hf.Delta or hf.Iceberg there"),
        ("gs://lake/readings", "this is gs://. Use hf.Delta or hf.Iceberg there"),
        ("abfss://lake@acme.dfs.core.windows.net/readings", "this is az://. Use hf.Delta"),
        ("viewfs://cluster/readings", "Give the same place as hdfs://"),
        ("webhdfs://namenode:9870/readings", "Give the same place as hdfs://"),
        ("hdfs://namenode/readings", "needs a Spark session"),
        ("hdfs://namenode/", "not a whole store"),
    ],
)
def test_another_store_is_refused_by_its_name(
    path: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "existing_session", lambda: None)
    ledger = hf.Files(path).open_ledger()
    found = None if ledger is None else ledger.read("readings")
    assert isinstance(found, Unreadable)
    assert why in found.why


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"path": 5}, "path= takes a path as text, not int"),
        ({"path": ""}, "path="),
        ({"path": "/a", "max_files": "3"}, "max_files= takes a whole number"),
        ({"path": "/a", "max_files": True}, "max_files="),
        ({"path": "/a", "partition_by": "day"}, "list of columns"),
    ],
)
def test_an_option_of_another_type_is_refused_by_its_name(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        hf.Files(**given)


def test_a_path_can_be_a_path() -> None:
    assert hf.Files(Path("/lake/readings")) == hf.Files("/lake/readings")  # type: ignore[arg-type]


def test_a_sink_is_a_value_and_comes_back_from_its_contract() -> None:
    sink = hf.Files("/lake/readings", partition_by=["day"])
    assert len({sink, hf.Files("/lake/readings", partition_by=("day",))}) == 1
    contract = SinkContract(kind="files", place=sink.place, label="gold")
    assert sink_of(contract) == hf.Files("/lake/readings", name="gold")


def test_what_a_ledger_says_of_a_stream_that_it_does_not_have(tmp_path: Path) -> None:
    ledger = DiskLake(tmp_path).ledger()
    found = ledger.find_obstacle(ROW, EmptyOutput(kept="holdfast.kept_one"))
    assert found == "It has no batch of this stream."
    assert ledger.find_obstacle(ROW, KeepOutput()) is None
    assert ledger.since("readings", generation=1).unclear


def test_rows_of_a_generation_are_counted_only_while_there_are_none(tmp_path: Path) -> None:
    driver = Driver(DiskLake(tmp_path), epoch=1)
    row = driver.start()
    assert row is not None
    assert driver.ledger.since("readings", generation=1) == Since(own_rows=0)
    assert driver.write(row, 0) == Apply()
    assert driver.ledger.since("readings", generation=1) == Since(own_rows=None)
    assert driver.ledger.since("readings", generation=2).unclear


def test_the_other_streams_of_a_directory_are_named(tmp_path: Path) -> None:
    lake = DiskLake(tmp_path)
    assert Driver(lake, epoch=1).live()
    assert lake.ledger().replace(None, replace(ROW, stream="alerts"))
    assert lake.ledger().other_streams("readings") == ("alerts",)
    assert lake.ledger().other_streams("alerts") == ("readings",)


def test_a_batch_that_is_put_back_again_and_again_is_never_seen(tmp_path: Path) -> None:
    lake, ledger, row = after_a_life(tmp_path)
    new = opened(row, epoch=2)
    assert ledger.settle(row, new, EmptyOutput(kept="holdfast.kept_one"))
    kept = tmp_path / ".readings.holdfast" / "readings" / "kept"
    name = "hf_batch=readings.1.000000000"
    for epoch in (3, 4, 5, 6):
        shutil.copytree(kept / "holdfast.kept_one" / name, tmp_path / "readings" / name)
        found = lake.ledger().read("readings")
        assert isinstance(found, LedgerRow)
        assert lake.ledger().fence(found, epoch=epoch, nonce=f"n{epoch}") is not None
        assert not lake.seen()
        assert not lake.junk() or all("going." not in each for each in lake.junk())
    assert len(list(kept.glob(f"holdfast.kept_stray*/{name}"))) == 4


def test_a_restart_lists_the_batches_twice_to_see_that_readers_get_one_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = DiskLake(tmp_path)
    assert Driver(lake, epoch=1).live()
    listed: Counter[str] = Counter()
    list_ = LocalMover.list

    def counted(self: LocalMover, directory: str = "") -> Listing:
        listed[directory] += 1
        return list_(self, directory)

    monkeypatch.setattr(LocalMover, "list", counted)
    spark = SimpleNamespace(conf={"spark.master": "local"})
    df = stand_in(SimpleNamespace(schema=SimpleNamespace(fields=[]), sparkSession=spark))
    check_target(lake.open(), lake.sink, df=df, stream="readings")
    assert listed["readings"] == 2


@pytest.mark.parametrize(
    "output", [RestoreOutput(kept="1.0", aside="holdfast.kept_one"), KeepOutput()]
)
def test_a_row_does_not_go_back_below_batches_of_its_own_generation(
    tmp_path: Path, output: Output
) -> None:
    """Their names would be used again: what is published next could not be told from them."""
    lake = DiskLake(tmp_path)
    assert Driver(lake, epoch=1).live()
    ledger = lake.ledger()
    row = ledger.read("readings")
    assert isinstance(row, LedgerRow)
    before = replace(row, epoch=2, nonce="n2", last_batch=BatchId(0))
    assert "A rewind opens a new generation" in str(ledger.find_obstacle(before, output))
    with pytest.raises(CannotSettleError, match=r"Batch [12] of generation 1 is there"):
        ledger.settle(row, before, output)
    assert (lake.seen(), ledger.read("readings")) == (all_rows(), row)
