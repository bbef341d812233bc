"""A plan file is input from anybody: what was edited in it, or put elsewhere, does no harm."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from holdfast.apply.apply import apply_plan
from holdfast.apply.errors import JournalError, NotAllowedError
from holdfast.apply.journal import read_journalled_plan
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.ledger.output import EmptyOutput, Output, RestoreOutput
from holdfast.plan.plan_file import Plan, PlanFileError, decode_plan, encode_plan
from holdfast.plan.steps import DiscardTree, RemoveTree, SettleSink, Step
from tests.unit.apply.plans import (
    FILES,
    STREAM,
    apply,
    four_steps,
    journal_of,
    look,
    make_root,
    plan_of,
)
from tests.unit.apply.test_undo import opening
from tests.unit.apply.test_undo_later import SINK, Ledger, OneLedger, row


def discard(root: Path, place: Path) -> DiscardTree:
    del root
    return DiscardTree(stream=STREAM, place=str(place), files=len(FILES), why="w")


def settle(root: Path, output: Output) -> SettleSink:
    old, new = row(root, 1, 1), row(root, 1, 0)
    return SettleSink(stream=STREAM, sink=SINK, old=old, new=new, output=output, why="w")


@pytest.mark.parametrize("kind", ["discard", "empty", "restore"])
def test_a_permission_that_was_taken_out_of_the_file_is_still_needed(
    kind: str, tmp_path: Path
) -> None:
    make_root(tmp_path)
    steps: dict[str, Step] = {
        "discard": discard(tmp_path, tmp_path / STREAM),
        "empty": settle(tmp_path, EmptyOutput(kept="holdfast.kept_1")),
        "restore": settle(tmp_path, RestoreOutput(kept="1", aside="2")),
    }
    plan = plan_of(tmp_path, steps[kind])
    assert plan.needs == ()
    stores = OneLedger(Ledger(row(tmp_path, 1, 1)))
    before = look(tmp_path, without=())
    with pytest.raises(NotAllowedError) as raised:
        apply_plan(plan, stores, allowed=())
    assert raised.value.missing == (f"destructive:{STREAM}",)
    assert look(tmp_path, without=()) == before


def test_a_copy_of_a_journal_does_not_change_the_place_that_it_was_copied_from(
    tmp_path: Path,
) -> None:
    root = tmp_path / "here"
    plan = plan_of(make_root(root), *four_steps(root))
    apply(plan)
    shutil.copytree(root, tmp_path / "backup")
    copy = str(journal_of(plan).location).replace("/here/", "/backup/")
    with pytest.raises(JournalError, match="It is a copy"):
        plan_undo(copy, Stores())
    record = Stores().at(f"{root}/_holdfast/{STREAM}")
    shutil.copytree(
        f"{root}/_holdfast/{STREAM}/journal/{plan.id}", f"{root}/_holdfast/{STREAM}/journal/x"
    )
    with pytest.raises(JournalError, match="It is a copy"):
        read_journalled_plan(record, "x")
    (tmp_path / "link").symlink_to(root)
    linked = str(journal_of(plan).location).replace("/here/", "/link/")
    assert isinstance(plan_undo(linked, Stores()), Plan)


@pytest.mark.parametrize("place", ["other", "other.g2/offsets", "_holdfast/other"])
def test_a_step_on_a_stream_whose_lease_is_not_held_is_refused(place: str, tmp_path: Path) -> None:
    make_root(tmp_path)
    opened = opening(tmp_path, "other", 1, why="opened")
    path = tmp_path / "_holdfast/other" / opened.path
    path.parent.mkdir(parents=True)
    path.write_text(opened.content)
    (step, *_) = four_steps(tmp_path)
    swapped = msgspec.structs.replace(step, place=str(tmp_path / place))
    with pytest.raises(PlanFileError, match="which is of the stream other"):
        apply(plan_of(tmp_path, swapped))


@pytest.mark.parametrize("name", ["", "_holdfast", f"_holdfast/{STREAM}"])
def test_no_step_deletes_the_record(name: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, discard(tmp_path, tmp_path / name))
    with pytest.raises(PlanFileError, match="and the record with it"):
        decode_plan(encode_plan(plan), "plan.json")


def test_a_directory_is_not_a_copy_of_itself(tmp_path: Path) -> None:
    place = str(tmp_path / STREAM)
    step = RemoveTree(stream=STREAM, source=place, target=place, fingerprint="0" * 64, why="w")
    with pytest.raises(PlanFileError, match="into itself"):
        decode_plan(encode_plan(plan_of(tmp_path, step)), "plan.json")


def test_a_label_with_hidden_characters_does_not_stop_a_plan(tmp_path: Path) -> None:
    make_root(tmp_path)
    step = settle(tmp_path, EmptyOutput(kept="holdfast.kept_1"))
    sink = msgspec.structs.replace(SINK, label="read\u200bings\n")
    plan = plan_of(tmp_path, msgspec.structs.replace(step, sink=sink))
    stores = OneLedger(Ledger(row(tmp_path, 1, 1)))
    journal = apply_plan(plan, stores, allowed={f"destructive:{STREAM}"})
    assert "\\u200b" in msgspec.json.decode(Path(journal, "0001-begun.json").read_bytes())["what"]
