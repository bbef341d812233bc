"""Killed at any point, once or twice, a plan of file steps ends as if it had not been."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.plan.plan_file import Plan
from tests.unit.apply.plans import apply, finish, four_steps, kill_at, look, make_root, plan_of

AFTER = {
    "readings/commits/0": b"v1\n{}",
    "readings/offsets/0": b"v1\n{}\n0",
    "readings/offsets/1": b"v1\n{}\nother",
    "readings/offsets/2": b"v1\n{}\n2",
    "readings/sources/0/0": b"v1\n",
}


def make_plan(root: Path) -> Plan:
    return plan_of(make_root(root), *four_steps(root))


def test_killed_at_every_point_it_is_continued(tmp_path: Path) -> None:
    reached = 0
    for point in count(1):
        plan = make_plan(tmp_path / str(point))
        if not kill_at(point, plan):
            break
        finish(plan)
        assert look(tmp_path / str(point)) == AFTER, point
        reached += 1
    assert reached == 25  # 2 before the journal, 3 to open it, 4 per step, 2 kept, 2 at the end


@pytest.mark.parametrize("second", [1, 2, 3, 5, 8, 13])
def test_killed_again_while_it_is_continued(tmp_path: Path, second: int) -> None:
    for first in count(1):
        plan = make_plan(tmp_path / str(first))
        if not kill_at(first, plan):
            break
        kill_at(second, plan, continues=True)
        finish(plan)
        assert look(tmp_path / str(first)) == AFTER, (first, second)


def test_undo_killed_at_every_point_gives_back_every_byte(tmp_path: Path) -> None:
    for point in count(1):
        root = tmp_path / str(point)
        plan = make_plan(root)
        before = look(root)
        undo = plan_undo(apply(plan), Stores())
        assert isinstance(undo, Plan)
        was_killed = kill_at(point, undo)
        finish(undo)
        assert look(root) == before, point
        if not was_killed:
            break


def test_a_part_of_a_plan_is_undone(tmp_path: Path) -> None:
    for point in count(1):
        root = tmp_path / str(point)
        plan = make_plan(root)
        before = look(root)
        if not kill_at(point, plan):
            break
        journal = root / "_holdfast/readings/journal" / plan.id
        if not (journal / "plan.json").exists():
            continue
        undo = plan_undo(str(journal), Stores())
        if isinstance(undo, Plan):
            apply(undo)
        assert look(root) == before, point
