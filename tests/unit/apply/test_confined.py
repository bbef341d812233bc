"""What a plan may touch follows from its steps and the records, not from what its file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.plan.plan_file import PlanFileError, encode_plan
from holdfast.plan.steps import (
    CopyTree,
    DiscardTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    Step,
    digest_of,
)
from holdfast.plan.trees import list_files
from tests.unit.apply.plans import STREAM, apply, four_steps, look, make_root, plan_of
from tests.unit.apply.test_undo import copying
from tests.unit.apply.test_undo_later import first_generation

GIVEN: dict[str, Any] = {"stream": STREAM, "why": "w"}


def fingerprint(place: Path) -> str:
    return list_files(Stores().at(str(place))).fingerprint


def steps(root: Path, away: Path) -> dict[str, Step]:
    """Return steps that no Holdfast plans, each with what it would touch."""
    live, snapshot = root / STREAM, str(root / "_holdfast" / STREAM / "snapshots/x")
    return {
        "remove the live checkpoint": RemoveTree(
            source=snapshot, target=str(live), fingerprint=fingerprint(live), **GIVEN
        ),
        "remove a foreign directory": RemoveTree(
            source=snapshot, target=str(away), fingerprint=fingerprint(away), **GIVEN
        ),
        "discard the live checkpoint": DiscardTree(
            place=str(live), files=4, fingerprint=fingerprint(live), **GIVEN
        ),
        "discard without a fingerprint": DiscardTree(place=str(live), files=4, **GIVEN),
        "discard a foreign directory": DiscardTree(
            place=str(away), files=1, fingerprint=fingerprint(away), **GIVEN
        ),
        "write any file": PutFile(place=str(root), path="cron.d/job", content="x", **GIVEN),
        "write a lease": PutFile(
            place=str(root / "_holdfast" / STREAM), path="leases/000009.json", content="x", **GIVEN
        ),
        "write into a journal": PutFile(
            place=str(root / "_holdfast" / STREAM),
            path="journal/x/ended.json",
            content="x",
            **GIVEN,
        ),
        "remove a file elsewhere": RemoveFile(
            place=str(away), path="offsets/0", sha256=digest_of("x"), **GIVEN
        ),
        "replace a file elsewhere": PutFile(
            place=str(away), path="offsets/0", content="y", replaces=digest_of("x"), **GIVEN
        ),
        "copy from elsewhere": CopyTree(
            source=str(away),
            target=str(root / "other"),
            fingerprint=fingerprint(away),
            files=1,
            size_bytes=1,
            **GIVEN,
        ),
    }


NAMES = tuple(
    """remove the live checkpoint/remove a foreign directory/discard the live checkpoint/discard
without a fingerprint/discard a foreign directory/write any file/write a lease/write into a
journal/remove a file elsewhere/replace a file elsewhere/copy from elsewhere""".replace(
        "\n", " "
    ).split("/")
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("goal", ["snapshot", "prune", "retire", "undo"])
def test_a_step_that_no_holdfast_plans_is_refused(name: str, goal: str, tmp_path: Path) -> None:
    root, away = tmp_path / "streams", tmp_path / "away"
    first_generation(root)
    (away / "offsets").mkdir(parents=True)
    (away / "offsets/0").write_text("x")
    plan = plan_of(root, steps(root, away)[name], goal=goal, roots=(str(away),))
    before = look(tmp_path, without=("leases",))
    with pytest.raises(PlanFileError):
        apply_plan(plan, Stores(), allowed={f"destructive:{STREAM}"})
    assert look(tmp_path, without=("leases",)) == before


def test_a_place_on_the_command_line_may_be_changed(tmp_path: Path) -> None:
    root, away = make_root(tmp_path / "streams"), tmp_path / "away"
    (away / "offsets").mkdir(parents=True)
    (away / "offsets/0").write_text("x")
    step = steps(root, away)["replace a file elsewhere"]
    plan = plan_of(root, step, roots=(str(away),))
    file = tmp_path / "plan.json"
    file.write_bytes(encode_plan(plan))
    assert run_command(["apply", str(file), "--execute"]) == ExitCode.REFUSED
    apply_plan(plan, Stores(roots=[str(away)]), allowed=())
    assert (away / "offsets/0").read_text() == "y"


def test_a_file_that_takes_a_plan_back_is_not_applied(tmp_path: Path) -> None:
    """Only `holdfast undo` makes such a plan, from the journal and the world as it is."""
    root = make_root(tmp_path)
    plan = plan_of(root, *four_steps(root))
    apply(plan)
    back = msgspec.structs.replace(
        plan, id="20260101-000000-00000b", undoes=plan.id, steps=(copying(root, tmp_path / "x"),)
    )
    file = tmp_path / "plan.json"
    file.write_bytes(encode_plan(back))
    assert json.loads(file.read_bytes())["undoes"] == plan.id
    assert run_command(["apply", str(file), "--execute"]) == ExitCode.REFUSED
