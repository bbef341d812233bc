"""Plans of plain streams while somebody else changes files, and plans that were edited."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

import msgspec
import pytest

from holdfast.apply import movement
from holdfast.apply.errors import DriftedPlanError, StreamRunsError
from holdfast.apply.movement import find_movement
from holdfast.apply.undo import plan_undo
from holdfast.cli.plan_text import execute_options
from holdfast.errors import LocationError
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan, PlanFileError
from holdfast.plan.remake import remake_plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import FillTree
from holdfast.plan.trees import HELD
from tests.unit.apply.plain_stream import RESET, RETIRE, REWIND, PlainStream
from tests.unit.apply.quiet import quieten
from tests.unit.apply.test_plain_kills import kill_at, renew


@pytest.fixture
def plain(tmp_path: Path) -> PlainStream:
    return PlainStream(tmp_path / "home").create()


def kill_when(plain: PlainStream, request: Request, path: str, *, has: str) -> Plan:
    """Kill a plan once a file is gone, or is a marker, and another one is there still."""
    plan = plain.plan(request)
    file = plain.home / path
    for point in count(1):
        renew(plain)
        assert kill_at(point, plain, plan)
        if (not file.exists() or file.read_text() == HELD) and (plain.home / has).exists():
            return plan
    raise AssertionError


def test_a_file_that_comes_into_a_held_checkpoint_is_not_deleted(plain: PlainStream) -> None:
    plan = kill_when(plain, REWIND, "cp/orders/metadata", has="cp/orders/offsets/0")
    before = plain.home / "cp/orders/offsets/7"
    before.write_text("of a driver that was not stopped")
    with pytest.raises(DriftedPlanError, match="such as offsets/7"):
        plain.apply(plan)
    assert before.exists()
    undo = plan_undo(str(plain.journal(plan)), plain.stores())
    assert isinstance(undo, Plan)
    plain.apply(undo)
    kept = list((plain.home / "cp/_holdfast").rglob("offsets/7"))
    assert [each.read_text() for each in kept] == ["of a driver that was not stopped"]
    now = plain.look()
    renew(plain)
    assert now == plain.look()


def test_an_emptied_checkpoint_has_no_directories_left(plain: PlainStream) -> None:
    """Spark does not begin a query where `offsets`, `commits` or `state` has anything in it."""
    (plain.checkpoint / "state/0/1").mkdir(parents=True)
    (plain.checkpoint / "state/0/1/1.delta").write_text("rows")
    quieten(plain.home)
    plain.apply(plain.plan(RESET))
    assert [each.name for each in plain.checkpoint.iterdir() if each.is_dir()] == []


def test_an_output_that_was_half_emptied_is_not_taken_for_empty(plain: PlainStream) -> None:
    log, part = "lake/orders/_spark_metadata/0", "lake/orders/part-0.parquet"
    plan = kill_when(plain, RESET, log, has=part)
    (plain.out / "part-9.parquet").write_text("of somebody else")
    with pytest.raises(DriftedPlanError, match="has other files"):
        plain.apply(plan)
    (plain.out / "part-9.parquet").unlink()
    plain.apply(plan)
    assert [*plain.look()] == ["cp/orders/metadata"]


def test_what_has_run_from_a_retired_place_is_kept_by_the_undo(plain: PlainStream) -> None:
    before = plain.look()
    journal = plain.apply(plain.plan(RETIRE))
    (plain.checkpoint / "metadata").unlink()
    (plain.checkpoint / "offsets").mkdir(exist_ok=True)
    (plain.checkpoint / "offsets/0").write_text("of a program that began anew")
    undo = plan_undo(journal, plain.stores())
    assert isinstance(undo, Plan)
    plain.apply(undo)
    assert plain.look() == before
    kept = [each.read_text() for each in (plain.home / "cp/_holdfast").rglob("offsets/0")]
    assert "of a program that began anew" in kept


@pytest.mark.parametrize(
    "path", ["../evil", "/evil", "offsets/a/../../../../evil", "evil.sh", "offsets/./0"]
)
def test_an_edited_plan_fills_in_no_other_file(plain: PlainStream, path: str) -> None:
    plan, before = plain.plan(REWIND), plain.look()
    steps = tuple(
        msgspec.structs.replace(each, contents={path: "x"}) if isinstance(each, FillTree) else each
        for each in plan.steps
    )
    with pytest.raises(PlanFileError, match="no file of a checkpoint"):
        plain.apply(msgspec.structs.replace(plan, steps=steps))
    assert plain.look() == before


def looks_at(plain: PlainStream, *sinks: str) -> DiagnoseRequest:
    return DiagnoseRequest(location=str(plain.checkpoint), sinks=sinks)


def test_an_output_that_is_named_twice_is_emptied_once(plain: PlainStream) -> None:
    plan = make_plan(RESET, looks_at(plain, str(plain.out), f"{plain.out}/", str(plain.out)))
    assert isinstance(plan, Plan)
    plain.apply(plan)
    assert [*plain.look()] == ["cp/orders/metadata"]


def test_an_output_around_the_checkpoint_is_not_emptied(plain: PlainStream) -> None:
    shutil.copytree(plain.out / "_spark_metadata", plain.home / "_spark_metadata")
    found = make_plan(RESET, looks_at(plain, str(plain.home)))
    assert isinstance(found, NoPlan)
    assert "one inside the other" in found.reason


def test_a_plan_does_not_keep_credentials_of_a_sink(plain: PlainStream) -> None:
    with pytest.raises(LocationError) as caught:
        make_plan(RESET, looks_at(plain, "postgresql://me:hunter2@127.0.0.1/db#orders"))
    assert "hunter2" not in str(caught.value)


def test_a_plan_with_relative_locations_is_the_same_in_another_directory(
    plain: PlainStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plain.home)
    looks = DiagnoseRequest(location="cp/orders", sinks=("lake/orders",), among="cp")
    plan = make_plan(RESET, looks)
    assert isinstance(plan, Plan)
    monkeypatch.chdir("/")
    assert remake_plan(plan, "plan.json", DiagnoseRequest(location="")) == plan.words


def test_the_command_that_is_printed_names_the_output(plain: PlainStream) -> None:
    assert f"--root {plain.home}/lake" in execute_options(plain.plan(RESET))
    assert "--root" not in execute_options(plain.plan(RETIRE))


def test_an_undo_may_follow_at_once_and_not_while_the_stream_runs(
    plain: PlainStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(movement, "find_movement", find_movement)
    before = plain.look()
    undo = plan_undo(plain.apply(plain.plan(REWIND)), plain.stores())
    assert isinstance(undo, Plan)
    assert "4 of its 4 steps were carried out" in undo.summary
    plain.apply(undo)
    assert plain.look() == before
    quieten(plain.home)
    journal = plain.apply(plain.plan(REWIND))
    plain.add_batch(1)
    undo = plan_undo(journal, plain.stores())
    assert isinstance(undo, Plan)
    with pytest.raises(StreamRunsError, match="was written 0 s ago"):
        plain.apply(undo)
