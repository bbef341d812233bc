"""The blocks of the page on stopping, run as one program that gets SIGTERM."""

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

PAGE = (ROOT / "docs/guides/stopping.md").read_text()
GUARD, STOP = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
HANDLER, WAIT = STOP.split("\n", 1)
BEFORE = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
readings = spark.readStream.format("text").load("in")
"""
RUNNING = """\
while not query.recentProgress:
    pass
print("running", flush=True)
"""


@pytest.mark.usefixtures("class_archive")
def test_the_program_of_the_page_stops_by_sigterm(database: str, tmp_path: Path) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE readings (value text)")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/0.txt").write_text("a row\n")
    # Before its handler is there, SIGTERM ends a program at once.
    program = f"{BEFORE}{GUARD}{HANDLER}\n{RUNNING}{WAIT}print('ended')\n"
    (tmp_path / "program.py").write_text(program)
    driver = subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, **environment(tmp_path / "spark", {}), "READINGS_DSN": database},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdout is not None
    assert driver.stdout.readline() == "running\n"
    driver.terminate()
    said, _ = driver.communicate(timeout=60)
    assert (said, driver.returncode) == ("ended\n", 0)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT value FROM readings").fetchall() == [("a row",)]
