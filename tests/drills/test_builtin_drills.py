"""The drills that come with Holdfast, a sample of them; all: `campaigns.every_drill`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holdfast.drills.summary import SummaryJson
from lab.spark import environment

DRAWN = {"postgres-*": 2, "both-append": 1}


@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("of", DRAWN)
def test_a_sample_of_the_drills_passes(
    database: str, of: str, *, tmp_path: Path, seed: int
) -> None:
    command = [sys.executable, "-m", "holdfast", "drill", "run", of, "--sample", str(DRAWN[of])]
    command += ["--seed", str(seed), "--dsn", "env:SCRATCH_DSN", "--format", "json"]
    settings = {**os.environ, **environment(tmp_path / "spark", {}), "SCRATCH_DSN": database}
    ended = subprocess.run(
        [*command, "--directory", str(tmp_path / "drills")],
        check=False,
        env=settings,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = msgspec.json.decode(ended.stdout, type=SummaryJson)
    assert [drill.verdict for drill in found.drills] == DRAWN[of] * ["PASS"]
