"""The sensors pipeline as a newcomer runs it: in a fresh environment made from the wheel.

    python -m benchmarks.sensors_demo [--times 3]

The wheel is built and installed with what it asks for, in the locked versions; of the repository
only `examples` is there. `python -m examples.sensors` runs without a server, and is timed from the
outside. Spark takes the jar of Delta from its cache, or downloads it in the first run.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import click

import examples
from lab.scratch import scratch_directory

ROOT = Path(examples.__file__).parents[1]
UV = str(Path(sys.executable).with_name("uv"))
EXTRAS = "[spark,postgres,kafka]"


def install(place: Path) -> Path:
    """Make the environment; return its Python."""
    build = [UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*build, "--out-dir", str(place / "dist"), str(ROOT)], check=True)
    (wheel,) = (place / "dist").glob("*.whl")
    environment = place / "environment"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    python = environment / "bin/python"
    command = [UV, "pip", "install", "--quiet", "--offline", "--python", str(python)]
    command += ["--constraints", str(ROOT / "requirements/dev.txt")]
    subprocess.run([*command, f"{wheel}{EXTRAS}"], check=True)
    return python


def run(python: Path, here: Path) -> float:
    """Run the example in a directory that has nothing else; return the seconds it took.

    Raises:
        SystemExit: It did not end exact.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))
    }
    began = time.monotonic()
    ended = subprocess.run(
        [str(python), "-m", "examples.sensors"],
        check=False,
        cwd=here,
        env={**variables, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - began
    if ended.returncode:
        raise SystemExit(ended.stdout + ended.stderr)
    click.echo(ended.stdout, err=True)
    return seconds


@click.command(help=__doc__)
@click.option("--times", default=3, show_default=True)
def main(*, times: int) -> None:
    """Install it, run it, and print how long it took."""
    with scratch_directory() as scratch:
        python = install(scratch)
        here = scratch / "here"
        here.mkdir()
        shutil.copytree(ROOT / "examples", here / "examples")
        taken = [run(python, here) for _ in range(times)]
    middle = statistics.median(taken)
    click.echo(f"{middle:.0f} s (median of {times}, {min(taken):.0f} to {max(taken):.0f})")


if __name__ == "__main__":
    main()
