"""How much longer `holdfast --help` takes than `python -c pass`, medians of one interleaved run.

    python -m benchmarks.cli_start

The runs take turns, so that a busy machine slows both alike.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

REPEATS = 21
MOST_MILLISECONDS = 200
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "holdfast --help": [str(Path(sys.executable).with_name("holdfast")), "--help"],
}


def main() -> None:
    """Run both commands in turn and print the difference of their medians."""
    milliseconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(REPEATS):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            milliseconds[name].append((time.perf_counter() - began) * 1000)
    bare, ours = (statistics.median(times) for times in milliseconds.values())
    print(f"holdfast --help takes {ours - bare:.0f} ms more than python -c pass.")
    for name, times in milliseconds.items():
        middle = statistics.median(times)
        print(
            f"  {name:<18}{middle:5.0f} ms, {min(times):.0f} to {max(times):.0f} in {REPEATS} runs"
        )
    if ours - bare > MOST_MILLISECONDS:
        sys.exit(f"More than {MOST_MILLISECONDS} ms is too long to wait for help.")


if __name__ == "__main__":
    main()
