"""What `hf.Delta` becomes for one start."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.errors import ConfigError
from holdfast.record.contracts import SinkContract
from holdfast.sinks.delta.commit_notes import encode_row
from holdfast.sinks.delta.log_ledger import app_id
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.target import Target
from holdfast.sinks.kinds import sink_of
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from tests.stand_ins import stand_in
from tests.unit.sinks.delta_commits import ROW


def test_a_table_is_found_and_created_only_when_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MemoryStorage()
    log.location = parse_location("/lake/gold")
    there = Target(name="gold", reader=log)
    targets = [Target(name="gold", reader=MemoryStorage(), is_missing=True), there]
    made: list[Any] = []
    monkeypatch.setattr("holdfast.sinks.delta.writer.find_target", lambda *_: targets.pop(0))
    monkeypatch.setattr("holdfast.sinks.delta.writer.make_table", lambda *given: made.append(given))
    df = SimpleNamespace(sparkSession="session")
    sink = Delta(table="lake.gold", keys=["id"], sequence_by="at")
    writer = sink.writer_for(stand_in(df), stream="readings", output_mode="complete")
    assert (made, writer.place, writer.name) == ([], "lake.gold", "lake.gold")
    writer.create()
    assert made == [(df, sink)]
    assert (writer.place, writer.identity) == ("/lake/gold", "/lake/gold")
    writer.create()
    assert len(made) == 1


def test_complete_output_is_not_appended() -> None:
    with pytest.raises(ConfigError, match="the Delta table /lake/gold"):
        Delta(path="/lake/gold").writer_for(
            stand_in(None), stream="readings", output_mode="complete"
        )


def test_a_sink_is_a_value() -> None:
    sink = Delta(path="/lake/gold", keys=["id"])
    assert sink == Delta(path="/lake/gold", keys=("id",))
    assert len({sink, pickle.loads(pickle.dumps(sink))}) == 1
    with pytest.raises(AttributeError):
        sink.path = "/elsewhere"  # type: ignore[misc]


def test_a_table_that_another_driver_has_created_meanwhile_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = MemoryStorage()
    log.location = parse_location("/lake/gold")
    there = Target(name="gold", reader=log, table_id="t1")
    targets = [Target(name="gold", reader=MemoryStorage(), is_missing=True), there]
    sink, df = Delta(table="gold"), SimpleNamespace(sparkSession="session")

    def find(*given: Any) -> Target:
        assert given == (df, sink)
        return targets.pop(0)

    monkeypatch.setattr("holdfast.sinks.delta.writer.find_target", find)
    writer = sink.writer_for(stand_in(df), stream="readings", output_mode="append")
    assert writer.recorded_place == "catalog:gold"
    writer.look_again()
    assert (writer.identity, writer.recorded_place) == ("/lake/gold", "/lake/gold")
    writer.look_again()


@pytest.mark.parametrize("sink", [Delta(path="/lake/gold", keys=["id"]), Delta(table="db.gold")])
def test_a_sink_comes_back_from_its_contract(sink: Delta) -> None:
    place = sink.path or f"catalog:{sink.table}"
    contract = SinkContract(kind="delta", place=place, label=str(sink.name), keys=tuple(sink.keys))
    assert sink_of(contract) == sink


def test_the_ledger_of_a_table_is_read_without_a_session(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    commit = {"commitInfo": {"operation": "WRITE", "userMetadata": encode_row(ROW)}}
    txn = {"txn": {"appId": app_id("readings", "gold"), "version": 1}}
    (log / f"{0:020}.json").write_text(f"{json.dumps(commit)}\n{json.dumps(txn)}\n")
    ledger = Delta(path=str(tmp_path), name="gold").open_ledger()
    assert ledger is not None
    assert ledger.read("readings") == ROW
    with pytest.raises(ConfigError, match="takes a Spark session"):
        ledger.fence(ROW, epoch=2, nonce="n2")
