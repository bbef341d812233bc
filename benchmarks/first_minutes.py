"""How long a newcomer waits: from the wheel to the first answers, as the tutorials say it.

    make wheel && python -m benchmarks.first_minutes

A new environment is made with venv and pip, whose cache is warm: it is made twice, and the second
time counts. Then the seconds are counted, from the first command on:

- to the first answer of `holdfast inspect`;
- to the first batch of the guarded stream of the first tutorial, in real PostgreSQL;
- to the verdict of the first drill of the second tutorial.

Spark is PySpark as pip installs it, with its own defaults.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from holdfast.drills.kill.waiting import wait_until
from lab import Postgres
from lab.scratch import scratch_directory

ROOT = Path(__file__).parents[1]
CHECKPOINT = "4.2-killed-commits"
MOST_SECONDS = {"inspect": 60.0, "batch": 300.0, "drill": 600.0}
_DRILL_ENDED = (0, 1)
"""A drill that finds something ends with 1, as this one must."""


@dataclass(frozen=True)
class Newcomer:
    """A directory with an environment of its own, in which commands are run."""

    here: Path
    wheel: Path

    def install(self, extras: str = "") -> None:
        """Install the wheel, into a new environment if there is none."""
        if not (self.here / "env").exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.here / "env")], check=True)
        self.run("pip", "install", "--quiet", f"{self.wheel}{extras}")

    def run(self, program: str, *arguments: str, **variables: str) -> None:
        """Run a program of the environment to its end, which must be a good one."""
        code = self.start(program, *arguments, **variables).wait()
        assert code == 0, f"{program} ended with {code}"

    def start(self, program: str, *arguments: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a program of the environment."""
        path = f"{self.here / 'env/bin'}:{os.environ['PATH']}"
        given = {**os.environ, "PATH": path, "SPARK_LOCAL_IP": "127.0.0.1", **variables}
        command = [str(self.here / "env/bin" / program), *arguments]
        return subprocess.Popen(command, cwd=self.here, env=given, stdout=subprocess.DEVNULL)


def blocks_of(page: str, language: str) -> list[str]:
    """Return the blocks of a tutorial in one language."""
    text = (ROOT / "docs/tutorials" / page).read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_first_batch(newcomer: Newcomer, dsn: str, began: float) -> float:
    """Follow the first tutorial; return the seconds until its first batch is in the table."""
    table = blocks_of("first-exactly-once-stream.md", "sql")[0]
    files, program = blocks_of("first-exactly-once-stream.md", "python")
    (newcomer.here / "files.py").write_text(files)
    (newcomer.here / "readings.py").write_text(program)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(table.encode())
        newcomer.run("python", "files.py")
        stream = newcomer.start("python", "readings.py", READINGS_DSN=dsn)
        query = "SELECT count(*) > 0 FROM readings"
        there = wait_until(lambda: connection.execute(query).fetchone() == (True,), seconds=300)
        assert there, "no batch has come"
        seconds = time.monotonic() - began
        assert stream.wait() == 0
        return seconds


def run_drill(newcomer: Newcomer, began: float) -> float:
    """Follow the second tutorial up to its first verdict; return the seconds until then."""
    sample, app, _ = blocks_of("first-drill.md", "python")
    _, plain, _ = blocks_of("first-drill.md", "sh")
    (newcomer.here / "sample.py").write_text(sample)
    (newcomer.here / "app.py").write_text(app)
    newcomer.run("python", "sample.py")
    program, *arguments = plain.split()
    assert newcomer.start(program, *arguments).wait() in _DRILL_ENDED
    return time.monotonic() - began


def main() -> None:
    """Do what the tutorials say, and print when each answer came."""
    (wheel,) = ROOT.glob("dist/*.whl")
    with scratch_directory() as scratch, Postgres() as postgres:
        newcomer = Newcomer(scratch, wheel)
        newcomer.install("[spark,postgres]")
        shutil.rmtree(scratch / "env")
        with tarfile.open(ROOT / f"tests/checkpoints/{CHECKPOINT}.tar.xz") as archive:
            archive.extractall(scratch / CHECKPOINT, filter="data")
        began = time.monotonic()
        newcomer.install()
        newcomer.run("holdfast", "inspect", f"{CHECKPOINT}/checkpoint")
        seconds = {"inspect": time.monotonic() - began}
        newcomer.install("[spark,postgres]")
        seconds["batch"] = run_first_batch(newcomer, postgres.create_database("first"), began)
        seconds["drill"] = run_drill(newcomer, began)
    for name, took in seconds.items():
        print(f"{name:<8}{took:6.0f} s after the first command (at most {MOST_SECONDS[name]:.0f})")
    if any(took > MOST_SECONDS[name] for name, took in seconds.items()):
        sys.exit("A newcomer waits too long.")


if __name__ == "__main__":
    main()
