"""A user's own sink of one file is drilled like those that come with Holdfast.

Every phase: `HOLDFAST_SINKS=tests.kinds.sqlite_sink holdfast drill run 'sqlite-append/every'`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.spark import environment
from tests.house.repository import ROOT

pytestmark = pytest.mark.usefixtures("class_archive")


def holdfast(*words: str, directory: Path) -> subprocess.CompletedProcess[str]:
    given = environment(directory, {})
    named = {"HOLDFAST_SINKS": "tests.kinds.sqlite_sink", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **given, **named},
    )


def test_it_is_listed_and_killed_before_its_commit_and_recovers(tmp_path: Path) -> None:
    listed = json.loads(holdfast("drill", "list", "--format", "json", directory=tmp_path).stdout)
    drills = [each["drill"] for each in listed["drills"]]
    assert "sqlite-append/ledger-written" in drills
    words = ("drill", "run", "sqlite-append/ledger-written", "--format", "json")
    ended = holdfast(*words, "--directory", str(tmp_path / "drills"), directory=tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(ended.stdout)
    assert found["verdict"] == "PASS"
