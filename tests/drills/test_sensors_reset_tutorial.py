"""The tutorial of the sensors reset: its program and its commands, on real servers."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from campaigns.mission import broken
from examples.sensors.settings import DSN_NAME
from lab import S3, Kafka
from lab.s3 import ACCESS_KEY, REGION, SECRET_KEY
from lab.spark import environment
from tests.docs.repair_pages import without_ids
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/tutorials/sensors-reset.md").read_text()
MODULE, PROGRAM = ".venv/bin/python -m ", "PYTHONPATH=. .venv/bin/python "
SET_UP, SEND, JUDGE, RUN, _ = [line for line in PAGE.splitlines() if line.startswith(MODULE)]
RUN_BROKEN = next(line for line in PAGE.splitlines() if line.startswith(PROGRAM))
EXCERPT, SAVED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SHOWN = re.findall(r"```text\n(?:\$ holdfast (.*)\n)?([^`]*(?:`prune`[^`]*)?)```", PAGE)
SESSION = "Some steps change a Delta table: a Spark session is started."
Run = Callable[..., tuple[int, str]]


def settled(text: str) -> set[str]:
    """Return the lines of a text without ids, versions and numbers.

    Versions follow from how batches were cut, and streams beside each other come in any order.
    """
    text = re.sub(r"(version|are kept:) [0-9]+\b", r"\1 V", without_ids(text))
    return {re.sub(r"^ *[0-9]+/", "", line) for line in text.splitlines()}


@pytest.mark.unit
def test_the_bug_of_the_tutorial_is_the_campaigns_own() -> None:
    code = "".join(Path(broken.__file__).read_text().split())
    assert "".join(EXCERPT.split()) in code


@pytest.fixture
def run(kafka: Kafka, database: str, *, s3: S3, tmp_path: Path) -> Run:
    settings = {
        **environment(tmp_path, s3.spark_settings()),
        "KAFKA": kafka.address,
        DSN_NAME: database,
        "AWS_ENDPOINT_URL": s3.address,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": REGION,
        "AWS_ALLOW_HTTP": "true",
        "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))),
    }

    def run_words(*words: str, cwd: Path = ROOT) -> tuple[int, str]:
        ran = subprocess.run(
            [sys.executable, *(word.replace("$KAFKA", kafka.address) for word in words)],
            check=False,
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, **settings},
        )
        return ran.returncode, ran.stdout

    return run_words


@pytest.mark.usefixtures("class_archive")
def test_the_tutorial_ends_as_it_says(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run_broken.py").write_text(SAVED)
    for command in (SET_UP, SEND):
        assert run(*shlex.split(command.removeprefix(".venv/bin/python ")))[0] == 0
    assert run(*shlex.split(RUN_BROKEN.removeprefix(PROGRAM)), cwd=tmp_path)[0] == 0
    code, judged = run(*shlex.split(JUDGE.removeprefix(".venv/bin/python ")))
    assert code == 1
    assert not re.search(r" 0 lost, 0 duplicated, 0 unexpected", judged)

    (plan, planned), (rehearse, _), (_, starts), (execute, applied), (_, exact), *_ = SHOWN
    code, said = run("-m", "holdfast", *shlex.split(plan), cwd=tmp_path)
    assert code == 0
    assert settled(planned) <= settled(said)
    code, said = run("-m", "holdfast", *shlex.split(rehearse), cwd=tmp_path)
    assert code == 0
    assert settled(starts) <= settled(said)
    code, said = run("-m", "holdfast", *shlex.split(execute), cwd=tmp_path)
    assert code == 0
    assert settled(applied) - settled(said) == {SESSION}, "which is said on stderr"

    assert run(*shlex.split(RUN.removeprefix(".venv/bin/python ")))[0] == 0
    assert run(*shlex.split(JUDGE.removeprefix(".venv/bin/python "))) == (0, exact)
