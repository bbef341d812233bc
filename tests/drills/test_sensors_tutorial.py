"""The tutorial of the sensors pipeline: its commands, with a kill in their midst."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from examples.sensors import guarded
from examples.sensors.settings import DSN_NAME
from holdfast.drills.kill import Driver, Named
from lab import S3, Kafka
from lab.spark import environment
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/tutorials/sensors.md").read_text()
SECOND = (ROOT / "docs/tutorials/sensors-reset.md").read_text()
PYTHON = ".venv/bin/python -m "
COMMANDS = [line for line in PAGE.splitlines() if line.startswith(PYTHON)]
SET_UP, SEND, _, RUN, JUDGE = COMMANDS


@pytest.mark.unit
def test_the_code_of_the_tutorial_is_the_examples_own() -> None:
    code = "".join(Path(guarded.__file__).read_text().split())
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    for block in blocks:
        assert "".join(block.split()) in code


@pytest.mark.usefixtures("class_archive")
def test_the_tutorial_ends_as_it_says(
    kafka: Kafka, database: str, *, s3: S3, tmp_path: Path
) -> None:
    settings = {
        **environment(tmp_path, s3.spark_settings()),
        "KAFKA": kafka.address,
        DSN_NAME: database,
    }

    def words(command: str) -> list[str]:
        given = command.removeprefix(PYTHON).removesuffix(" &").replace("$KAFKA", kafka.address)
        return shlex.split(given)

    def run(command: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", *words(command)],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **settings},
        ).stdout

    run(SET_UP)
    run(SEND)
    program = [guarded.__file__, *words(RUN)[1:]]
    driver = Driver(program, environment=settings, directory=tmp_path / "runs")
    driver.run_until_killed(Named("S6", 3))
    ended = driver.run_to_end()
    resumed, judged = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert resumed.strip() in ended.log.read_text()
    assert run(JUDGE) == judged
    begin_the_second_tutorial({**settings, "POSTGRES_DSN": database})


def begin_the_second_tutorial(settings: dict[str, str]) -> None:
    """It says that it comes after this one, in the same lab: nothing may be in its way."""
    prepare, send, *_ = re.findall(r"```sh\n(.*?)```", SECOND, re.DOTALL)
    script = (
        (prepare + send).replace(". …/lab.env\n", "").replace(".venv/bin/python", sys.executable)
    )
    try:
        subprocess.run(
            ["bash", "-euc", script], check=True, cwd=ROOT, env={**os.environ, **settings}
        )
    finally:
        with psycopg.connect(settings["POSTGRES_DSN"], autocommit=True) as connection:
            connection.execute("drop database if exists sensors_reset")
