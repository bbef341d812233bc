"""A plan for a world that has moved is refused, and nothing is changed; exit 4."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.apply import movement
from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import StalePlanError, StreamRunsError
from holdfast.apply.movement import find_movement
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan, encode_plan
from holdfast.plan.requests import Request
from tests.unit.apply.plans import kill_at, look
from tests.unit.apply.quiet import quieten

LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


def offsets(batch: int) -> str:
    return f'v1\n{LINE}\n{{"topic":{{"0":{batch}}}}}'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Three batches of a bare checkpoint; the newest commit is damaged."""
    home = tmp_path / "root/readings"
    (home / "offsets").mkdir(parents=True)
    (home / "commits").mkdir()
    (home / "metadata").write_text('{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"}')
    for batch in range(3):
        (home / f"offsets/{batch}").write_text(offsets(batch))
        (home / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
    (home / "commits/2").write_text("v1\n{")
    return home


def run_a_batch(home: Path) -> None:
    (home / "commits/2").write_text('v1\n{"nextBatchWatermarkMs":0}')
    (home / "offsets/3").write_text(offsets(3))
    (home / "commits/3").write_text('v1\n{"nextBatchWatermarkMs":0}')


def plan_a_batch(home: Path) -> None:
    (home / "offsets/3").write_text(offsets(3))


def touch_newest_offset(home: Path) -> None:
    """Give it other bytes of the same size."""
    (home / "offsets/2").write_text(offsets(7))


def touch_previous_offset(home: Path) -> None:
    (home / "offsets/1").write_text(offsets(7))


def touch_what_is_removed(home: Path) -> None:
    (home / "commits/2").write_text("v2\n{")


def change_query(home: Path) -> None:
    (home / "metadata").write_text('{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a02"}')


def delete_checkpoint(home: Path) -> None:
    shutil.rmtree(home)


def delete_old_entry(home: Path) -> None:
    (home / "offsets/0").unlink()


def open_generation(home: Path) -> None:
    path = home.parent / "_holdfast/readings/generations/0001.json"
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"format":"holdfast.generation","version":1,"number":1,'
        f'"checkpoint":"{home}","query_id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01",'
        '"first_batch":0,"why":"first","opened_at":"2026-01-01T00:00:00+00:00"}'
    )


MOVES = [
    run_a_batch,
    plan_a_batch,
    touch_newest_offset,
    touch_previous_offset,
    touch_what_is_removed,
    change_query,
    delete_checkpoint,
    delete_old_entry,
    open_generation,
]


def plan_resume(home: Path) -> Plan:
    found = make_plan(Request(goal="resume"), DiagnoseRequest(location=str(home)))
    assert isinstance(found, Plan)
    return found


@pytest.mark.parametrize("move", MOVES, ids=lambda each: each.__name__)
def test_a_moved_world_is_refused(move: Callable[[Path], None], checkpoint: Path) -> None:
    plan = plan_resume(checkpoint)
    move(checkpoint)
    before = look(checkpoint.parent, without=("leases",))
    with pytest.raises(StalePlanError, match="nothing was changed"):
        apply_plan(plan, Stores(), allowed={each.word for each in plan.needs})
    assert look(checkpoint.parent, without=("leases",)) == before


@pytest.mark.parametrize("execute", [True, False], ids=["executed", "rehearsed"])
def test_the_command_refuses_with_exit_4(
    execute: bool, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_resume(checkpoint)
    file = checkpoint.parent.parent / "plan.json"
    file.write_bytes(encode_plan(plan))
    touch_newest_offset(checkpoint)
    before = look(checkpoint.parent, without=("leases",))
    allow = [f"--allow={each.word}" for each in plan.needs]
    options = ["--execute", *allow] if execute else []
    with pytest.raises(SystemExit) as ended:
        run(["apply", str(file), *options])
    assert ended.value.code == ExitCode.REFUSED
    assert "offsets/2 has changed." in capsys.readouterr().err
    assert look(checkpoint.parent, without=("leases",)) == before


def test_the_time_of_a_file_does_not_matter(checkpoint: Path) -> None:
    plan = plan_resume(checkpoint)
    for path in checkpoint.rglob("*"):
        os.utime(path, (1, 1))
    apply_plan(plan, Stores(), allowed={each.word for each in plan.needs})
    assert not (checkpoint / "commits/2").exists()


def test_an_unchanged_world_is_not_refused(checkpoint: Path) -> None:
    quieten(checkpoint)
    plan = plan_resume(checkpoint)
    before = look(checkpoint)
    shutil.copytree(checkpoint, checkpoint.with_name("copy"))
    shutil.rmtree(checkpoint)
    checkpoint.with_name("copy").rename(checkpoint)
    apply_plan(plan, Stores(), allowed={each.word for each in plan.needs})
    assert before.keys() - look(checkpoint).keys() == {"commits/2"}


def test_a_bare_checkpoint_that_moves_is_neither_continued_nor_taken_back(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the plan itself has written a moment ago is no movement."""
    monkeypatch.setattr(movement, "find_movement", find_movement)
    quieten(checkpoint)
    plan = plan_resume(checkpoint)
    assert kill_at(6, plan)
    (checkpoint / "offsets/3").write_text("v1\n{}\n3")
    with pytest.raises(StreamRunsError, match=r"offsets/3 was written \d+ s ago"):
        continue_plan(plan, Stores())
    (checkpoint / "offsets/3").unlink()
    undo = plan_undo(continue_plan(plan, Stores()), Stores())
    assert isinstance(undo, Plan)
    (checkpoint / "commits/1").touch()
    with pytest.raises(StreamRunsError, match=r"commits/1 was written"):
        apply_plan(undo, Stores(), allowed=undo.words)
    quieten(checkpoint)
    apply_plan(undo, Stores(), allowed=undo.words)
    assert (checkpoint / "commits/2").exists()


def test_a_bare_checkpoint_that_was_written_just_now_is_refused(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(movement, "find_movement", find_movement)
    with pytest.raises(StreamRunsError, match="s ago"):
        apply_plan(
            plan_resume(checkpoint),
            Stores(),
            allowed={"repeats-data:readings", "unguarded:readings"},
        )
