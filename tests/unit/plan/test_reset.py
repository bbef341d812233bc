"""Resets of streams that feed each other, from their records and logs alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from benchmarks.plan_speed import make_stream, name_of
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.output import EmptyOutput
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import PutFile, SettleSink
from holdfast.record.contracts import Contract
from holdfast.record.documents import encode
from holdfast.record.runs import Run
from holdfast.sinks.delta.commit_notes import decode_row, encode_row
from holdfast.sinks.delta.log_ledger import app_id, transaction_version

FIRST = name_of(0)
RESET = Request(goal="reset", start="earliest", output="truncate", cascade=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for number in range(5):
        make_stream(tmp_path, number)
    return tmp_path


def plan(home: Path, request: Request = RESET, stream: str = FIRST) -> Plan | NoPlan:
    return make_plan(
        request, DiagnoseRequest(location=stream, root=str(home / "streams"), probe=True)
    )


def log_of(home: Path, stream: str) -> Path:
    return home / f"tables/{stream}/_delta_log/{0:020d}.json"


def record_of(home: Path, stream: str) -> Path:
    return home / f"streams/_holdfast/{stream}"


def change_contract(home: Path, stream: str, **changes: object) -> None:
    """Have the newest run of a stream point to another contract."""
    (old,) = (record_of(home, stream) / "contracts").glob("*.json")
    contract = msgspec.structs.replace(
        msgspec.json.decode(old.read_bytes(), type=Contract), **changes
    )
    (record_of(home, stream) / contract.path).write_bytes(encode(contract))
    (run,) = (record_of(home, stream) / "runs").glob("*.json")
    before = msgspec.json.decode(run.read_bytes(), type=Run)
    run.write_bytes(encode(msgspec.structs.replace(before, contract=contract.digest)))


def test_streams_are_reset_in_the_order_of_the_data(home: Path) -> None:
    found = plan(home)
    assert isinstance(found, Plan)
    order = found.streams
    assert order[0] == FIRST
    assert set(order) == {name_of(number) for number in range(5)}
    for number in range(1, 5):
        assert order.index(name_of((number - 1) // 2)) < order.index(name_of(number))


def test_each_stream_gets_a_checkpoint_a_generation_and_an_empty_output(home: Path) -> None:
    found = plan(home)
    assert isinstance(found, Plan)
    for stream in found.streams:
        steps = [step for step in found.steps if step.stream == stream]
        assert [type(step) for step in steps] == [PutFile, PutFile, SettleSink]
        settled = steps[-1]
        assert isinstance(settled, SettleSink)
        assert settled.output == EmptyOutput(kept="0")
        assert (settled.new.generation, settled.new.last_batch) == (2, -1)
    assert set(found.words) == {f"destructive:{stream}" for stream in found.streams}


def test_without_cascade_the_readers_are_named(home: Path) -> None:
    found = plan(home, replace(RESET, cascade=False))
    assert isinstance(found, NoPlan)
    assert name_of(1) in found.reason
    assert "--cascade" in found.nearest


def test_a_stream_that_is_locked_in_its_code_is_refused(home: Path) -> None:
    change_contract(home, name_of(3), reset="forbidden")
    found = plan(home)
    assert isinstance(found, NoPlan)
    assert f"{name_of(3)} is locked" in found.reason


def test_a_stream_that_would_not_begin_at_the_beginning_is_refused(home: Path) -> None:
    path = str(home / f"tables/{name_of(1)}")
    change_contract(home, name_of(3), source_options=({"path": path, "startingVersion": "7"},))
    found = plan(home)
    assert isinstance(found, NoPlan)
    assert "startingVersion=7" in found.reason


def test_a_table_with_rows_of_another_stream_is_not_emptied(home: Path) -> None:
    log = log_of(home, FIRST)
    first = json.loads(log.read_text().splitlines()[0])
    row = decode_row(first["commitInfo"]["userMetadata"])
    assert row is not None
    other = dataclasses.replace(row, stream="billing")
    actions = (
        {"commitInfo": {"userMetadata": encode_row(other, fenced_at=0, table_id="t", seen=0)}},
        {"txn": {"appId": app_id("billing", "out"), "version": transaction_version(1, 1, 4)}},
    )
    log.with_name(f"{1:020d}.json").write_text("\n".join(map(json.dumps, actions)))
    found = plan(home)
    assert isinstance(found, NoPlan)
    assert "billing" in found.reason


def test_a_stream_that_keeps_its_rows_goes_on_where_the_sink_ends(home: Path) -> None:
    here = Request(goal="reset", start="here", output="keep-from-here")
    found = plan(home, here)
    assert isinstance(found, Plan)
    assert found.words == ()
    settled = found.steps[-1]
    assert isinstance(settled, SettleSink)
    assert (settled.new.generation, settled.new.last_batch) == (2, 0)
    assert settled.old is not None
    assert settled.new.end_offsets == settled.old.end_offsets
