"""How long a command takes from an empty process, medians of one interleaved run.

    python -m benchmarks.cli_start

`inspect` and `diagnose` read a small recorded checkpoint. The runs take turns, so that a busy
machine slows all alike; the limits are those of a quiet one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

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


def main() -> None:
    """Run the commands in turn and print their medians."""
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(RECORDED) as archive:
            archive.extractall(directory, filter="data")
        lines = commands(Path(directory) / "checkpoint")
        milliseconds: dict[str, list[float]] = {name: [] for name in lines}
        for _ in range(REPEATS):
            for name, command in lines.items():
                began = time.perf_counter()
                # The exit code tells what was found; 2 and above that it was not looked at.
                done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
                milliseconds[name].append((time.perf_counter() - began) * 1000)
                if done.returncode > 1:
                    sys.exit(f"{name} ended with exit code {done.returncode}.")
    for name, times in milliseconds.items():
        middle = statistics.median(times)
        print(
            f"  {name:<18}{middle:5.0f} ms, {min(times):.0f} to {max(times):.0f} in {REPEATS} runs"
        )
    for name, most in MOST_MILLISECONDS.items():
        if statistics.median(milliseconds[name]) > most:
            sys.exit(f"{name} takes longer than {most} ms.")


if __name__ == "__main__":
    main()
