"""The quickstart of the README, block by block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from lab.spark import environment
from tests.house.repository import ROOT

README = (ROOT / "README.md").read_text()
INSTALL, PREPARE, DRILL = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
(PROGRAM,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.usefixtures("class_archive")
def test_the_quickstart_runs_as_it_is_printed(database: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {**os.environ, **environment(tmp_path / "spark", {}), "PATH": path}

    def run(script: str) -> str:
        command = ["bash", "-euc", script]
        ended = subprocess.run(
            command, cwd=tmp_path, env=given, check=True, capture_output=True, text=True
        )
        return ended.stdout

    name, *commands = PREPARE.splitlines()
    assert name.startswith("export READINGS_DSN=")
    given["READINGS_DSN"] = database
    run("\n".join(commands))
    (tmp_path / "readings.py").write_text(PROGRAM)
    for _ in range(2):
        run("python readings.py")
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT value FROM readings").fetchall()
    assert sorted(int(value) for (value,) in rows) == list(range(1, 1001))
    assert run(DRILL).startswith("PASS")
