"""Damaged checkpoints on disk, inspected by the command as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.fuzz.hostile.judge import CODES
from tests.fuzz.runs import RunCase
from tests.fuzz.trials import Failure

PATIENCE_S = 60.0


def try_process(case: RunCase, place: Path) -> Failure | None:
    """Say what is wrong with how the command ends."""
    name = case.name.replace("inspect:", "process:", 1)
    directory = place / "checkpoint"
    for path, raw in case.files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(raw)
    command = [sys.executable, "-m", "holdfast", "inspect", str(directory), "--state", "--files"]
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Failure(case=name, why=f"took more than {PATIENCE_S} s")
    if ran.returncode in CODES and not ran.stderr:
        return None
    return Failure(case=name, why=f"left with {ran.returncode}: {ran.stderr[-600:]}")
