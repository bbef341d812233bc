"""The first code of a driver process: have named points strike, then become the program.

    python child.py PROGRAM ARGUMENT...

Started as a file and not as a module: to import the rest of the lab would cost every driver 0.6 s.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from pathlib import Path

from holdfast import points


def strike_at_named_point() -> None:
    """Strike this process group at the point that the environment names."""
    wanted = os.environ.get("HOLDFAST_LAB_NAMED")
    if wanted is None:
        return
    _, name, nth = wanted.split(":")
    lock = threading.Lock()
    seen = 0

    def listener(point: str) -> None:
        nonlocal seen
        if point != name:
            return
        with lock:
            seen += 1
            if seen != int(nth):
                return
        with Path(os.environ["HOLDFAST_LAB_FIRED"]).open("a") as fired:
            fired.write(wanted + "\n")
        os.killpg(0, int(os.environ["HOLDFAST_LAB_STRIKE"]))

    points.listen(listener)


def main() -> None:
    """Arm the point and run the program as if it had been started itself."""
    strike_at_named_point()
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
