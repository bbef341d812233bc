"""What may be continued: a plan that was begun, has not ended, and is not being taken back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import (
    DriftedPlanError,
    JournalError,
    NotAllowedError,
    StalePlanError,
    UnfinishedRepairError,
)
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.plan.plan_file import Need, Plan
from holdfast.plan.steps import Permission
from holdfast.record.repairs import unfinished_repair, unfinished_repairs
from tests.unit.apply.plans import (
    STREAM,
    apply,
    finish,
    four_steps,
    journal_of,
    kill_at,
    look,
    make_root,
    plan_of,
    with_id,
)

OPENED = 4
"""The first points: the lease, the checks, the journal, the mark."""


def make_plan(root: Path, **more: object) -> Plan:
    return plan_of(make_root(root), *four_steps(root), **more)


def record(root: Path) -> object:
    return Stores().at(str(root / "_holdfast" / STREAM))


def undo_of(plan: Plan, number: int) -> Plan:
    found = plan_undo(str(journal_of(plan).location), Stores())
    assert isinstance(found, Plan)
    return with_id(found, number)


def test_a_plan_that_nobody_has_allowed_is_not_continued(tmp_path: Path) -> None:
    need = Need(permission=Permission.DESTRUCTIVE, stream=STREAM, why="Rows go.")
    plan = make_plan(tmp_path, needs=(need,))
    before = look(tmp_path, without=())
    with pytest.raises(JournalError, match="No plan was begun"):
        continue_plan(plan, Stores())
    assert look(tmp_path, without=()) == before


def test_permissions_are_asked_for_by_stream(tmp_path: Path) -> None:
    need = Need(permission=Permission.DESTRUCTIVE, stream=STREAM, why="the table is emptied.")
    plan = make_plan(tmp_path, needs=(need,))
    before = look(tmp_path, without=())
    for allowed in (set[str](), {"destructive"}, {"destructive:others"}, {f"skips-data:{STREAM}"}):
        with pytest.raises(NotAllowedError, match=f"--allow destructive:{STREAM}") as refused:
            apply_plan(plan, Stores(), allowed=allowed)
        assert refused.value.why == "The table is emptied."
    assert look(tmp_path, without=()) == before
    apply(plan)


def test_with_nothing_begun_and_the_world_moved_the_plan_is_closed(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert kill_at(OPENED, plan)
    (tmp_path / STREAM / "offsets/1").write_text("v1\n{}\nanother")
    before = look(tmp_path)
    with pytest.raises(StalePlanError, match="it has other content"):
        continue_plan(plan, Stores())
    assert look(tmp_path) == before
    assert unfinished_repair(record(tmp_path)) is None  # type: ignore[arg-type]
    with pytest.raises(JournalError, match="The plan was abandoned"):
        continue_plan(plan, Stores())


def test_a_plan_whose_closing_was_killed_is_closed_by_the_next_try(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert kill_at(OPENED, plan)
    (tmp_path / STREAM / "offsets/1").write_text("v1\n{}\nanother")
    assert kill_at(1, plan, continues=True)  # A8: the journal has ended, the mark has not
    assert unfinished_repair(record(tmp_path)) is not None  # type: ignore[arg-type]
    with pytest.raises(JournalError, match="The plan was abandoned"):
        continue_plan(plan, Stores())
    assert unfinished_repair(record(tmp_path)) is None  # type: ignore[arg-type]


def test_a_step_that_finds_another_file_stops_and_can_go_on(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert kill_at(10, plan)
    foreign = tmp_path / STREAM / "offsets/2"
    foreign.write_text("another")
    before = look(tmp_path)
    with pytest.raises(DriftedPlanError, match="offsets/2: it has other content"):
        continue_plan(plan, Stores())
    assert look(tmp_path) == before
    foreign.unlink()
    continue_plan(plan, Stores())
    assert foreign.read_text() == "v1\n{}\n2"


@pytest.mark.parametrize("number", [1, 999], ids=["smaller id", "larger id"])
def test_a_plan_that_was_taken_back_is_not_continued(tmp_path: Path, number: int) -> None:
    plan = make_plan(tmp_path)
    before = look(tmp_path)
    assert kill_at(12, plan)
    apply(undo_of(plan, number))
    assert look(tmp_path) == before
    assert unfinished_repairs(record(tmp_path)) == ()  # type: ignore[arg-type]
    with pytest.raises(JournalError, match="The plan was undone"):
        continue_plan(plan, Stores())
    assert look(tmp_path) == before


@pytest.mark.parametrize("number", [1, 999], ids=["smaller id", "larger id"])
def test_a_plan_that_is_being_taken_back_is_not_continued(tmp_path: Path, number: int) -> None:
    plan = make_plan(tmp_path)
    before = look(tmp_path)
    assert kill_at(16, plan)
    undo = undo_of(plan, number)
    assert kill_at(10, undo)
    between = look(tmp_path)
    with pytest.raises(UnfinishedRepairError, match=f"apply .*{undo.id} --continue"):
        continue_plan(plan, Stores())
    assert look(tmp_path) == between
    finish(undo)
    assert look(tmp_path) == before


def test_another_plan_waits_until_this_one_has_ended(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert kill_at(9, plan)
    between = look(tmp_path)
    other = with_id(plan, 77)
    with pytest.raises(UnfinishedRepairError, match=f"{plan.id} --continue") as refused:
        apply(other)
    assert refused.value.journal == str(journal_of(plan).location)
    assert look(tmp_path) == between
    finish(plan)


def test_the_journal_of_another_plan_is_not_used(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert kill_at(OPENED, plan)
    with pytest.raises(JournalError, match="another plan"):
        continue_plan(msgspec.structs.replace(plan, summary="Another."), Stores())


def test_a_plan_is_applied_once(tmp_path: Path) -> None:
    """After an undo the world is as before; the journal would say that every step is done."""
    plan = make_plan(tmp_path)
    apply(plan)
    applied = look(tmp_path)
    with pytest.raises(JournalError, match="The plan was applied already"):
        apply(plan)
    apply(undo_of(plan, 77))
    before = look(tmp_path)
    with pytest.raises(JournalError, match="The plan was undone already"):
        apply(plan)
    assert look(tmp_path) == before
    apply(with_id(plan, 78))
    assert look(tmp_path) == applied


def test_a_plan_that_was_begun_is_not_applied_but_continued(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert kill_at(3, plan)  # A4: no mark yet
    with pytest.raises(UnfinishedRepairError, match="--continue"):
        apply(plan)
    finish(plan)
