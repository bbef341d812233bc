"""No plan names a file twice: a step that finds its work done keeps no copy for undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.judge import judge
from holdfast.ledger.output import is_copy
from holdfast.plan.draft import kept_table
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import RemoveFile
from tests.unit.apply.plans import apply, look
from tests.unit.apply.quiet import quieten

METADATA = '{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"}'
LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Three batches of a bare checkpoint, with Hadoop's checksums of the logs."""
    home = tmp_path / "root/readings"
    (home / "offsets").mkdir(parents=True)
    (home / "commits").mkdir()
    (home / "metadata").write_text(METADATA)
    for batch in range(3):
        entry = f'v1\n{LINE}\n{{"topic":{{"0":{batch}}}}}'
        (home / f"offsets/{batch}").write_text(entry)
        (home / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        for log in ("offsets", "commits"):
            (home / f"{log}/.{batch}.crc").write_bytes(b"crc\0\0\0\2\0\0\0\0\0")
    return home


def test_a_damaged_commit_and_its_stale_checksums_go_once_and_come_back(checkpoint: Path) -> None:
    (checkpoint / "commits/2").write_text("v1\n{")
    quieten(checkpoint)
    before = look(checkpoint)
    plan = make_plan(Request(goal="resume"), DiagnoseRequest(location=str(checkpoint)))
    assert isinstance(plan, Plan)
    removed = [step.path for step in plan.steps if isinstance(step, RemoveFile)]
    assert "commits/.2.crc" in removed
    assert len(removed) == len(set(removed))
    undo = plan_undo(apply(plan), Stores())
    assert isinstance(undo, Plan)
    apply(undo)
    assert look(checkpoint) == before


def test_a_damaged_commit_before_a_pending_batch_is_written_again(checkpoint: Path) -> None:
    """Spark runs the pending batch alone; without the entry, the one before would seem lost."""
    (checkpoint / "commits/2").unlink()
    (checkpoint / "commits/.2.crc").unlink()
    (checkpoint / "commits/1").write_text("v1\n{")
    entry = checkpoint / "offsets/2"
    entry.write_text(entry.read_text().replace('"batchWatermarkMs":0', '"batchWatermarkMs":7'))
    for each in checkpoint.rglob(".*.crc"):
        each.unlink()
    quieten(checkpoint)
    before = look(checkpoint)
    plan = make_plan(Request(goal="resume"), DiagnoseRequest(location=str(checkpoint)))
    assert isinstance(plan, Plan)
    assert "pending batch 2" in plan.summary
    journal = apply(plan)
    assert (checkpoint / "commits/1").read_text() == 'v1\n{"nextBatchWatermarkMs":7}'
    found = judge(collect_case(DiagnoseRequest(location=str(checkpoint))))
    assert "HF211" not in {each.code for each in found.findings}
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan)
    apply(undo)
    assert look(checkpoint) == before


def test_a_damaged_commit_that_named_state_files_cannot_be_written_again(checkpoint: Path) -> None:
    (checkpoint / "commits/2").unlink()
    (checkpoint / "commits/1").write_text("v1\n{")
    (checkpoint / "commits/0").write_text(
        'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["a"]]}}'
    )
    for each in checkpoint.rglob(".*.crc"):
        each.unlink()
    quieten(checkpoint)
    found = make_plan(Request(goal="resume"), DiagnoseRequest(location=str(checkpoint)))
    assert isinstance(found, NoPlan)
    assert "commits/1 said which state files count" in found.reason


def test_copies_of_several_streams_in_one_plan_have_names_of_their_own() -> None:
    names = {
        kept_table("20260101-000000-00000a", stream, number)
        for stream in ("typed", "counted", "x" * 63)
        for number in (1, 2)
    }
    assert len(names) == 6
    assert all(is_copy(name) for name in names)
