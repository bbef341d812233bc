"""Copies are taken back as a whole, as long as nothing has used them; also those cut short."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.apply.errors import StalePlanError
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import CopyTree, PutFile
from holdfast.plan.trees import list_files
from holdfast.record.documents import encode
from holdfast.record.generations import CLONED, REWOUND, Generation
from holdfast.record.repairs import unfinished_repairs
from tests.unit.apply.plans import (
    STREAM,
    apply,
    four_steps,
    journal_of,
    kill_at,
    look,
    make_root,
    plan_of,
)

ID = "5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"


def copying(root: Path, target: Path, *leaves_out: str) -> CopyTree:
    files = list_files(Stores().at(str(root / STREAM)), leaves_out=leaves_out)
    return CopyTree(
        stream=STREAM,
        source=str(root / STREAM),
        target=str(target),
        fingerprint=files.fingerprint,
        files=files.count,
        size_bytes=files.size_bytes,
        leaves_out=leaves_out,
        why="w",
    )


def opening(root: Path, stream: str, number: int, *, why: str) -> PutFile:
    name = stream if number == 1 else f"{stream}.g{number}"
    opened = Generation(
        number=number,
        checkpoint=str(root / name),
        query_id=ID,
        first_batch=1,
        why=why,
        opened_at="2026-01-01T00:00:00+00:00",
    )
    place = str(root / "_holdfast" / stream)
    content = encode(opened).decode()
    return PutFile(stream=stream, place=place, path=opened.path, content=content, why="w")


def clone(root: Path) -> Plan:
    make_root(root)
    target = root / "two"
    metadata = PutFile(stream="two", place=str(target), path="metadata", content="{}", why="w")
    steps = (copying(root, target, "metadata"), metadata, opening(root, "two", 1, why=CLONED))
    return plan_of(root, *steps, goal="clone")


def rewind(root: Path) -> Plan:
    make_root(root)
    first = opening(root, STREAM, 1, why="first")
    path = root / "_holdfast" / STREAM / first.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first.content)
    target = root / f"{STREAM}.g2"
    metadata = PutFile(stream=STREAM, place=str(target), path="metadata", content="{}", why="w")
    left_out = ("metadata", "commits/1", "offsets/1")
    steps = (copying(root, target, *left_out), metadata, opening(root, STREAM, 2, why=REWOUND))
    return plan_of(root, *steps, goal="rewind")


def snapshot(root: Path) -> Plan:
    make_root(root)
    target = root / "_holdfast" / STREAM / "snapshots/before"
    return plan_of(root, copying(root, target), goal="snapshot")


def undo(plan: Plan) -> Plan | NoPlan:
    return plan_undo(str(journal_of(plan).location), Stores())


def take_back(plan: Plan) -> None:
    found = undo(plan)
    assert isinstance(found, Plan), found
    apply(found)


@pytest.mark.parametrize("make", [clone, rewind, snapshot])
def test_a_copy_is_taken_back_as_a_whole(make: object, tmp_path: Path) -> None:
    plan: Plan = make(tmp_path)  # type: ignore[operator]
    before = look(tmp_path)
    apply(plan)
    take_back(plan)
    assert look(tmp_path) == before
    assert not (tmp_path / "_holdfast/two/generations/0001.json").exists()
    assert not list((tmp_path / "_holdfast" / STREAM).glob("snapshots/*/*/*"))


def test_a_rewind_is_taken_back_by_one_more_generation(tmp_path: Path) -> None:
    plan = rewind(tmp_path)
    apply(plan)
    take_back(plan)
    raw = (tmp_path / "_holdfast" / STREAM / "generations/0003.json").read_text()
    assert f'"checkpoint": "{tmp_path / STREAM}"' in raw


@pytest.mark.parametrize("make", [clone, rewind, snapshot])
@pytest.mark.parametrize("point", range(5, 12))
def test_a_copy_that_was_cut_short_is_taken_back(make: object, point: int, tmp_path: Path) -> None:
    plan: Plan = make(tmp_path)  # type: ignore[operator]
    before = look(tmp_path)
    if not kill_at(point, plan):
        return
    copied = next(step for step in plan.steps if isinstance(step, CopyTree))
    for path in Path(copied.target).rglob("0"):
        path.unlink()  # the copy stopped here
    found = undo(plan)
    if isinstance(found, Plan):
        apply(found)
    assert look(tmp_path) == before
    assert not [path for path in Path(copied.target).rglob("*") if path.is_file()]


def test_a_clone_that_has_run_is_not_taken_back(tmp_path: Path) -> None:
    plan = clone(tmp_path)
    apply(plan)
    (tmp_path / "two/offsets/2").write_text("v1\n{}\n2")
    before = look(tmp_path)
    found = undo(plan)
    assert isinstance(found, NoPlan)
    assert "two/offsets/2 is not part of the copy" in found.reason
    assert look(tmp_path) == before


def test_a_copy_that_is_used_after_the_undo_was_planned_is_kept(tmp_path: Path) -> None:
    plan = snapshot(tmp_path)
    apply(plan)
    found = undo(plan)
    assert isinstance(found, Plan)
    target = tmp_path / "_holdfast" / STREAM / "snapshots/before"
    (target / "offsets/1").write_text("longer than it was")
    with pytest.raises(StalePlanError, match="offsets/1 is not part of the copy"):
        apply(found)
    assert len(look(target)) == 4


def test_the_checkpoint_of_a_rewind_that_has_run_is_kept(tmp_path: Path) -> None:
    plan = rewind(tmp_path)
    apply(plan)
    (tmp_path / f"{STREAM}.g2/offsets/1").write_text("v1\n{}\nagain")
    before = look(tmp_path)
    take_back(plan)
    assert look(tmp_path) == before


def test_a_copy_into_a_place_that_is_in_use_is_refused_before_anything(tmp_path: Path) -> None:
    plan = clone(tmp_path)
    (tmp_path / "two").mkdir()
    (tmp_path / "two/other").write_text("x")
    before = look(tmp_path)
    with pytest.raises(StalePlanError, match="two/other is not part of the copy"):
        apply(plan)
    assert look(tmp_path) == before


@pytest.mark.parametrize("point", [3, 4, 5, 6])
def test_a_plan_that_has_changed_nothing_yet_is_closed(point: int, tmp_path: Path) -> None:
    """Its mark would else refuse every start."""
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    before = look(tmp_path)
    assert kill_at(point, plan)
    take_back(plan)
    assert look(tmp_path) == before
    assert unfinished_repairs(Stores().at(f"{tmp_path}/_holdfast/{STREAM}")) == ()
    found = undo(plan)
    assert isinstance(found, NoPlan)
    assert found.is_fine


@pytest.mark.parametrize("point", range(3, 18))
def test_every_stream_of_a_plan_that_was_cut_short_can_start_again(
    point: int, tmp_path: Path
) -> None:
    plan = clone(tmp_path)
    if kill_at(point, plan):
        take_back(plan)
        for stream in plan.streams:
            assert unfinished_repairs(Stores().at(f"{tmp_path}/_holdfast/{stream}")) == ()


def test_a_file_that_was_changed_since_is_not_taken_back(tmp_path: Path) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    apply(plan)
    (tmp_path / STREAM / "offsets/2").write_text("a batch ran")
    found = undo(plan)
    assert isinstance(found, NoPlan)
    assert "offsets/2" in found.reason


def test_a_copy_that_was_kept_and_is_gone_stops_the_undo(tmp_path: Path) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    apply(plan)
    found = undo(plan)
    assert isinstance(found, Plan)
    shutil.rmtree(tmp_path / "_holdfast" / STREAM / f"journal/{plan.id}/kept")
    with pytest.raises(Exception, match="The copy that was kept is gone"):
        apply(found)


def test_a_copy_below_a_directory_named_batches_is_removed(tmp_path: Path) -> None:
    """Only the rows of batches in the record are left for another undo."""
    plan = rewind(tmp_path / "batches" / "streams")
    before = look(tmp_path)
    apply(plan)
    take_back(plan)
    assert look(tmp_path) == before
