"""The commands others rely on are there and explain themselves."""

from __future__ import annotations

import subprocess
import tomllib
from fnmatch import fnmatch

from tests.drawing import GROUPS
from tests.house.repository import ROOT, python_files

FIXED = {"dev", "check", "unit", "spark", "drill", "bench", "lab"}


def test_make_help_lists_every_fixed_command_with_an_explanation() -> None:
    output = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    lines = [line.split(maxsplit=2) for line in output.stdout.splitlines()]
    explained = {command: explanation for _, command, explanation in lines}
    assert explained.keys() >= FIXED
    assert all(explained.values())


def test_the_gate_runs_the_same_commands() -> None:
    gate = (ROOT / ".ci/run").read_text()
    for command in (
        "make dev",
        "make check",
        'side_by_side unit-rest "unit-repairs unit-newest wheel',
        "side_by_side spark drill",
    ):
        assert command in gate


def test_the_workflow_calls_the_same_gate() -> None:
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text()


def test_a_group_of_modules_has_modules() -> None:
    there = {path.stem for path in python_files("tests/spark", "tests/drills")}
    assert [name for _, names in GROUPS.values() for name in names if name not in there] == []


def test_what_is_not_measured_is_still_there() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]
    there = [str(path) for path in python_files("src")]
    gone = [
        each for each in settings["run"]["omit"] if not any(fnmatch(path, each) for path in there)
    ]
    assert gone == []
