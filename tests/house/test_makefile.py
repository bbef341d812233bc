"""The commands others rely on are there and explain themselves."""

from __future__ import annotations

import subprocess

from tests.house.repository import ROOT

FIXED = {"dev", "check", "unit", "spark", "drill", "bench", "lab"}


def test_make_help_lists_every_fixed_command_with_an_explanation() -> None:
    output = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    lines = [line.split(maxsplit=2) for line in output.stdout.splitlines()]
    explained = {command: explanation for _, command, explanation in lines}
    assert explained.keys() >= FIXED
    assert all(explained.values())


def test_the_gate_runs_the_same_commands() -> None:
    gate = (ROOT / ".ci/run").read_text()
    for command in ("dev", "check", "unit", "spark", "drill"):
        assert f"make {command}" in gate


def test_the_workflow_calls_the_same_gate() -> None:
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text()
