"""A start beside a plan that is half applied is refused, with the command that finishes it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.errors import HoldfastError
from holdfast.plan.plan_file import Plan
from holdfast.streams.guard import refuse_unfinished_repair
from tests.unit.apply.plans import (
    STREAM,
    finish,
    four_steps,
    journal_of,
    kill_at,
    make_root,
    plan_of,
    with_id,
)

MARKED, LAST = 4, 25
"""Of the points of a plan of four steps: that at which its mark is there, and the last one."""


def start(root: Path) -> None:
    place: Any = SimpleNamespace(stream=STREAM, record=Stores().at(f"{root}/_holdfast/{STREAM}"))
    refuse_unfinished_repair(place)


def test_a_start_is_refused_from_the_mark_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # it takes most of the time
    for point in range(1, LAST + 1):
        root = tmp_path / str(point)
        plan = plan_of(make_root(root), *four_steps(root))
        assert kill_at(point, plan)
        if MARKED <= point < LAST:
            with pytest.raises(HoldfastError) as refused:
                start(root)
            assert f"holdfast apply {journal_of(plan).location} --continue" in refused.value.how
        else:
            start(root)
        finish(plan)
        start(root)


def test_of_a_plan_that_is_being_taken_back_the_undo_is_named(tmp_path: Path) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    assert kill_at(16, plan)
    undo = plan_undo(str(journal_of(plan).location), Stores())
    assert isinstance(undo, Plan)
    undo = with_id(undo, 999)
    assert kill_at(9, undo)
    with pytest.raises(HoldfastError, match=f"{undo.id} --continue"):
        start(tmp_path)
    finish(undo)
    start(tmp_path)
