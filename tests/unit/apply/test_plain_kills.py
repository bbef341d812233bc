"""Killed after any change of a file, the plan of a plain stream ends as if it had not been."""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

import pytest

from campaigns.repair_kills.telling import TellingStores
from holdfast import points
from holdfast.apply.undo import plan_undo
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from tests.drawing import ALL, SEED
from tests.unit.apply.plain_stream import REPLAY, RESET, RETIRE, REWIND, PlainStream
from tests.unit.apply.plans import Killed, dying

MOVE = Request(goal="move")
STRIDE = 1 if ALL else 29
"""Not every change: all of them take minutes."""
FIRST = 1 + SEED % STRIDE
GOALS = pytest.mark.parametrize(
    "request_", [RESET, REWIND, REPLAY, RETIRE, MOVE], ids=lambda each: each.goal
)


def plan_anew(plain: PlainStream, request: Request) -> Plan:
    """Return the plan for a goal, on a stream as it was before."""
    renew(plain)
    if request.goal == "move":
        request = Request(goal="move", target=str(plain.home / "new"))
    return plain.plan(request)


def renew(plain: PlainStream) -> None:
    """Put everything back to before any plan."""
    shutil.rmtree(plain.home, ignore_errors=True)
    plain.create()


def kill_at(point: int, plain: PlainStream, plan: Plan) -> bool:
    """Apply or continue a plan up to a change of a file; False: it has fewer."""
    seen: list[str] = []

    def tell(name: str) -> None:
        seen.append(name)
        if len(seen) == point:
            raise Killed

    roots = (str(plain.home / "lake"), str(plain.home / "new"))
    with dying():
        points.listen(tell)
        try:
            plain.apply(plan, TellingStores(roots=roots))
        except Killed:
            return True
        finally:
            points.listen(None)
    return False


@GOALS
def test_killed_anywhere_it_is_continued(tmp_path: Path, request_: Request) -> None:
    plain = PlainStream(tmp_path / "home")
    plan = plan_anew(plain, request_)
    plain.apply(plan)
    after = plain.look()
    for point in count(FIRST, STRIDE):
        renew(plain)
        if not kill_at(point, plain, plan):
            break
        kill_at(1 + point * 7 % 25, plain, plan)
        plain.apply(plan)
        assert plain.look() == after, point
    assert point > 12


@GOALS
def test_killed_anywhere_it_is_taken_back(tmp_path: Path, request_: Request) -> None:
    plain = PlainStream(tmp_path / "home")
    plan = plan_anew(plain, request_)
    before = plain.look()
    for point in count(FIRST, STRIDE):
        renew(plain)
        if not kill_at(point, plain, plan):
            break
        if plain.is_begun(plan):
            undo = plan_undo(str(plain.journal(plan)), plain.stores())
            if isinstance(undo, Plan):
                kill_at(1 + point * 7 % 25, plain, undo)
                plain.apply(undo)
        assert plain.look() == before, point
    assert point > 12


@GOALS
def test_its_undo_is_killed_anywhere(tmp_path: Path, request_: Request) -> None:
    plain = PlainStream(tmp_path / "home")
    for point in count(FIRST, STRIDE):
        plan = plan_anew(plain, request_)
        before = plain.look()
        undo = plan_undo(plain.apply(plan), plain.stores())
        assert isinstance(undo, Plan)
        was_killed = kill_at(point, plain, undo)
        plain.apply(undo)
        assert plain.look() == before, point
        if not was_killed:
            break
    assert point > 12
