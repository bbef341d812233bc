"""The wheel that `make wheel` has built, in environments that hold nothing but it and what it asks.

Nothing of the repository is on the path there: neither its source nor its other packages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest

from lab.spark import CHEAP_JVM, environment
from tests.house.repository import ROOT

UV = str(Path(sys.executable).with_name("uv"))
LOCK = str(ROOT / "requirements/dev.txt")
TUTORIAL = (ROOT / "docs/tutorials/first-exactly-once-stream.md").read_text()
DRILL = (ROOT / "docs/tutorials/first-drill.md").read_text()
TIMELINE = """
from holdfast.report.timeline import Page, render_timelines
page = Page(title="title", verdict="PASS", sentence="", facts=[], command="", sections=[])
print(render_timelines(page))
"""


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a directory in which commands are run."""

    environment: Path
    here: Path

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run lines of shell as a person would, with the environment activated."""
        path = f"{self.environment / 'bin'}:{os.environ['PATH']}"
        given = {"PATH": path, "HOME": str(self.here), **variables}
        command = ["bash", "-c", script]
        return subprocess.run(
            command, cwd=self.here, env=given, capture_output=True, text=True, check=False
        )


def install(wheel: Path, place: Path, *, extras: str = "") -> Installed:
    """Install the wheel with what it asks for, in the locked versions, whose hashes are checked."""
    environment, here = place / "environment", place / "here"
    here.mkdir()
    python = str(environment / "bin/python")
    subprocess.run(
        [UV, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True
    )
    # From what `make dev` has fetched: asked again, the index has PySpark built a second time.
    command = [UV, "pip", "install", "--quiet", "--offline", "--python", python]
    command += ["--constraints", LOCK]
    subprocess.run([*command, f"{wheel}{extras}"], check=True)
    return Installed(environment, here)


@pytest.fixture(scope="module")
def wheel() -> Path:
    wheels = list(ROOT.glob("dist/*.whl"))
    assert len(wheels) == 1, "build it with: make wheel"
    return wheels[0]


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    installed = install(wheel, tmp_path_factory.mktemp("bare"))
    for name in ("4.2-killed-commits", "4.1-aggregation"):
        with tarfile.open(ROOT / f"tests/checkpoints/{name}.tar.xz") as archive:
            archive.extractall(installed.here / name, filter="data")
    return installed


def test_the_wheel_holds_the_package_alone(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "holdfast",
        "holdfast_spark",
        "pyspark_holdfast",  # where Spark looks for data sources
    }
    assert {"holdfast/py.typed", "holdfast/report/timeline.html"} <= set(names)


def test_without_spark_a_checkpoint_is_inspected(bare: Installed) -> None:
    assert bare.run("python -c 'import pyspark'").returncode == 1
    shown = bare.run("holdfast inspect 4.2-killed-commits/checkpoint")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Batch 2 is pending: the next start runs it again")


def test_without_spark_checksums_of_state_are_compared(bare: Installed) -> None:
    command = "holdfast inspect --state 4.1-aggregation/checkpoint"
    assert bare.run(command).stdout.startswith("Batch 5 is committed")
    snapshot = bare.here / "4.1-aggregation/checkpoint/state/0/0/6.snapshot"
    raw = snapshot.read_bytes()
    snapshot.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    damaged = bare.run(command)
    assert damaged.stdout.startswith("Batch 6 will fail: state/0/0/6.snapshot is damaged")


def test_without_spark_the_timeline_is_drawn(bare: Installed) -> None:
    (bare.here / "timeline.py").write_text(TIMELINE)
    drawn = bare.run("python timeline.py")
    assert drawn.stdout.startswith("<!doctype html>"), drawn.stderr


@pytest.mark.sampled(1)
@pytest.mark.timeout(1200)
def test_the_first_tutorial_runs_as_it_is_printed(
    wheel: Path, database: str, tmp_path: Path
) -> None:
    stream = install(wheel, tmp_path, extras="[spark,postgres]")
    blocks = re.findall(r"```(\w+)\n(.*?)```", TUTORIAL, re.DOTALL)
    assert [language for language, _ in blocks] == (
        ["sh", "sql", "python", "python", "sh", "sql", "sql", "sql", "sh", "text", "sh"]
    )
    _, table, files, program, kill, count, _, _, reset, refusal, back = (text for _, text in blocks)
    (stream.here / "files.py").write_text(files)
    (stream.here / "readings.py").write_text(program)
    # What a laptop does not need and a shared machine does: no UI, and a JVM that starts cheaply.
    settings = f"spark.ui.enabled false\nspark.driver.extraJavaOptions {' '.join(CHEAP_JVM)}\n"
    (stream.here / "spark-defaults.conf").write_text(settings)
    given = {"READINGS_DSN": database, "SPARK_LOCAL_IP": "127.0.0.1"}
    given |= {"SPARK_CONF_DIR": str(stream.here)}

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(table.encode())
        assert stream.run("python files.py").returncode == 0
        stream.run(kill, **given)
        ((arrived, _),) = connection.execute(count.encode()).fetchall()
        assert 0 < arrived < 20_000, "the kill did not hit"
        ended = stream.run("python readings.py", **given)
        assert ended.returncode == 0, ended.stderr
        assert connection.execute(count.encode()).fetchall() == [(20_000, 20_000)]
        assert refusal.strip() in stream.run(reset, **given).stderr
        ended = stream.run(back, **given)
        assert ended.returncode == 0, ended.stderr
        assert connection.execute(count.encode()).fetchall() == [(20_000, 20_000)]


@pytest.mark.sampled(1)
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("class_archive")
def test_the_second_tutorial_runs_as_it_is_printed(wheel: Path, tmp_path: Path) -> None:
    """Delta's jar is the lab's: `tests/docs/test_delta_coordinates.py` compares the settings."""
    drilled = install(wheel, tmp_path, extras="[spark]")
    sample, app, _ = re.findall(r"```python\n(.*?)```", DRILL, re.DOTALL)
    _, plain, guarded = re.findall(r"```sh\n(.*?)```", DRILL, re.DOTALL)
    shown_plain, shown_guarded = re.findall(r"```text\n(.*?)```", DRILL, re.DOTALL)
    (drilled.here / "sample.py").write_text(sample)
    (drilled.here / "app.py").write_text(app)
    python = str(drilled.environment / "bin/python")
    given = {**environment(tmp_path / "spark", {}), "PYSPARK_PYTHON": python}

    assert drilled.run("python sample.py").returncode == 0
    found = drilled.run(plain, **given)
    assert found.stdout.startswith(shown_plain), found.stdout + found.stderr
    assert found.returncode == 1
    again = "holdfast drill run app:plain --source-sample sample --only commits-before"
    assert f"Again: {again}" in found.stdout
    passed = drilled.run(guarded, **given)
    assert passed.stdout.startswith(shown_guarded), passed.stdout + passed.stderr
    assert passed.returncode == 0
