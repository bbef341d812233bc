"""The first code of a driver process: write down points, have one strike, become the program.

    python child.py PROGRAM ARGUMENT...

Started as a file and not as a module: importing all drills would cost every driver 0.6 s.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time
from pathlib import Path

from holdfast import points


class Listener:
    """Writes down every point with its time, and strikes this process group at one of them."""

    def __init__(self, wanted: str) -> None:
        """Strike at `at:NAME:NTH`; at nothing when that is empty."""
        self._wanted = wanted
        _, self._name, self._nth = (wanted or "::0").split(":")
        self._lock = threading.Lock()
        self._seen = 0

    def __call__(self, point: str) -> None:
        """Hear that a thread of this process is at `point`."""
        with self._lock:
            _append("HOLDFAST_DRILL_REACHED", f"{time.monotonic()} {point}")
            if point != self._name:
                return
            self._seen += 1
            if self._seen != int(self._nth):
                return
        _append("HOLDFAST_DRILL_FIRED", self._wanted)
        os.killpg(0, int(os.environ["HOLDFAST_DRILL_STRIKE"]))


def _append(variable: str, line: str) -> None:
    with Path(os.environ[variable]).open("a") as file:
        file.write(line + "\n")


def main() -> None:
    """Listen, and run the program as if it had been started itself."""
    points.listen(Listener(os.environ.get("HOLDFAST_DRILL_NAMED", "")))
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
