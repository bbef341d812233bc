"""The wall clock of a process, moved by a drill: also while the process runs.

A library of a few lines is preloaded, built as the other shims are. It moves what Python and the
JVM take for the time of day, and leaves the clock that they wait by alone: setting a machine's
clock does not move that either.
"""

from __future__ import annotations

import struct
from pathlib import Path

from holdfast.drills.kill.shim import build_shim

_SHIM = Path(__file__).with_name("clock_shim.c")


class MovedClock:
    """A clock that is right until it is moved."""

    def __init__(self, directory: Path) -> None:
        """Make its file in a directory.

        Raises:
            CompilerMissingError: There is no C compiler.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self._library = build_shim(_SHIM, directory)
        self.file = directory / "clock"
        self.file.write_bytes(struct.pack("l", 0))

    @property
    def environment(self) -> dict[str, str]:
        """With which a process, and what it starts, has this clock."""
        return {"LD_PRELOAD": str(self._library), "HOLDFAST_DRILL_CLOCK": str(self.file)}

    def move(self, seconds: int) -> None:
        """Let it be so many seconds ahead of the true time from now on, or behind."""
        move(self.file, seconds)


def move(file: Path, seconds: int) -> None:
    """Move the clock that a file is for."""
    with file.open("r+b") as clock:  # in place: it is mapped
        clock.write(struct.pack("l", seconds))
