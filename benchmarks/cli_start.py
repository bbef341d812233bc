"""How long a command takes from an empty process, medians of one interleaved run.

    python -m benchmarks.cli_start

`inspect` and `diagnose` read a small recorded checkpoint. The runs take turns, so that a busy
machine slows all alike; the limits are those of a quiet one. CPU time depends less on what else
runs. Modules are compiled in a first turn that is not counted, as they are for an installed
package, also where `PYTHONDONTWRITEBYTECODE` is set.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

REPEATS = 20
RECORDED = Path(__file__).parents[1] / "tests/checkpoints/4.2-aggregation-pending.tar.xz"
BARE = "python -c pass"
MOST_MILLISECONDS = {"holdfast --help": 220, "holdfast inspect": 350, "holdfast diagnose": 500}


def commands(checkpoint: Path) -> dict[str, list[str]]:
    """Return the command lines to compare."""
    holdfast = [sys.executable, "-m", "holdfast"]
    return {
        BARE: [sys.executable, "-c", "pass"],
        "holdfast --help": [*holdfast, "--help"],
        "holdfast inspect": [*holdfast, "inspect", str(checkpoint)],
        "holdfast diagnose": [*holdfast, "diagnose", str(checkpoint)],
    }


class Run(NamedTuple):
    """What one run of a command took."""

    wall_ms: float
    cpu_ms: float


def time_command(name: str, command: list[str], bytecode: str) -> Run:
    """Run a command once."""
    unset = ("PYTHONDONTWRITEBYTECODE",)
    environment = {key: value for key, value in os.environ.items() if key not in unset}
    began, used = time.perf_counter(), _children_cpu_s()
    done = subprocess.run(
        command,
        check=False,
        stdout=subprocess.DEVNULL,
        env=environment | {"PYTHONPYCACHEPREFIX": bytecode},
    )
    wall, cpu = time.perf_counter() - began, _children_cpu_s() - used
    # The exit code tells what was found; 2 and above that it was not looked at.
    if done.returncode > 1:
        sys.exit(f"{name} ended with exit code {done.returncode}.")
    return Run(wall * 1000, cpu * 1000)


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the commands in turn and print their medians."""
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(RECORDED) as archive:
            archive.extractall(directory, filter="data")
        lines = commands(Path(directory) / "checkpoint")
        turns = [
            {name: time_command(name, each, f"{directory}/pyc") for name, each in lines.items()}
            for _ in range(1 + REPEATS)
        ][1:]
    middle = {name: statistics.median(turn[name].wall_ms for turn in turns) for name in lines}
    for name in lines:
        walls, cpus = zip(*(turn[name] for turn in turns), strict=True)
        print(
            f"  {name:<18}{middle[name]:5.0f} ms, {min(walls):.0f} to {max(walls):.0f} in {REPEATS}"
            f" runs; CPU {statistics.median(cpus):.0f} ms"
        )
    for name, most in MOST_MILLISECONDS.items():
        if middle[name] > most:
            sys.exit(f"{name} takes longer than {most} ms.")


if __name__ == "__main__":
    main()
