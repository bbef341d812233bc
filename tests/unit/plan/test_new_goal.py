"""A goal is one module: what it registers has a command, JSON, Python, `apply` and `undo`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.plan.draft import Heading, Part, new_plan_id, put_together
from holdfast.plan.goal import GOALS, GoalCase, Option, command_of, goal
from holdfast.plan.plan_file import Impact, NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import PutFile
from tests.docs.repair_root import STREAM, make_root

PATH = "sources/touched"


def plan_touch(asked: GoalCase) -> Plan | NoPlan:
    """Write a file into the checkpoint.

    Spark does not read it.
    """
    now, name = asked.now, asked.request.target
    if now.checkpoint.read(f"{PATH}/{name}") is not None:
        return NoPlan(reason=f"{name} is there.", is_fine=True)
    step = PutFile(
        stream=now.stream,
        place=now.place,
        path=f"{PATH}/{name}",
        content="",
        why="It was asked for.",
    )
    heading = Heading(goal="touch", summary=f"Touch {name}.", undo="The file is removed.")
    part = Part(steps=(step,), impact=Impact(stream=now.stream, position="goes on as it is"))
    return put_together(heading, (now,), (part,), plan_id=new_plan_id())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setitem(GOALS, "touch", GOALS["resume"])  # taken out again at the end
    option = Option(
        flag="--file",
        field="target",
        keyword="file",
        metavar="NAME",
        is_required=True,
        help="The file's name.",
    )
    goal("touch", "Write a file into the checkpoint.", option)(plan_touch)
    make_root(tmp_path)
    return tmp_path / "streams"


def test_its_command_from_plan_to_undo(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    touched, file = root / STREAM / PATH / "one", str(root.parent / "plan.json")
    asked = ["plan", "touch", STREAM, "--root", str(root), "--file", "one"]
    assert run_command([*asked, "-o", file, "--format", "json"]) == ExitCode.DONE
    said = json.loads(capsys.readouterr().out)
    assert (said["goal"], said["asked"]["request"]["target"]) == ("touch", "one")
    assert run_command(["apply", file]) == ExitCode.DONE
    assert not touched.exists()
    capsys.readouterr()
    assert run_command(["apply", file, "--execute"]) == ExitCode.DONE
    assert touched.exists()
    journal = capsys.readouterr().out.partition("Undo: holdfast undo ")[2].strip()
    assert run_command(["undo", journal, "--execute"]) == ExitCode.DONE
    assert not touched.exists()


def test_its_help_and_its_own_words(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["plan", "--help"]) == ExitCode.DONE
    assert "Write a file into the checkpoint." in capsys.readouterr().out
    assert run_command(["plan", "touch", "--help"]) == ExitCode.DONE
    said = capsys.readouterr().out
    assert "Spark does not read it." in said
    assert "--file NAME" in said
    assert run_command(["plan", "touch", STREAM, "--root", str(root)]) == ExitCode.USAGE
    request = Request(goal="touch", target="a b")
    assert command_of(request, "readings") == "holdfast plan touch readings --file 'a b'"


def test_it_from_python(root: Path) -> None:
    touched = root / STREAM / PATH / "two"
    plan = hf.plan_touch(STREAM, file="two", root=str(root))
    assert isinstance(plan, Plan)
    journal = hf.apply_plan(plan)
    assert touched.exists()
    assert isinstance(hf.plan_touch(STREAM, file="two", root=str(root)), NoPlan)
    hf.apply_plan(hf.plan_undo(journal))
    assert not touched.exists()
    with pytest.raises(TypeError, match="unexpected keyword argument 'flie'"):
        hf.plan_touch(STREAM, flie="two", root=str(root))
    with pytest.raises(AttributeError, match="no attribute 'plan_dance'"):
        _ = hf.plan_dance
