"""Makes a checkpoint look as if its query had stopped long ago."""

from __future__ import annotations

import os
from pathlib import Path

_LONG_AGO = 1_790_000_000


def quieten(home: Path) -> None:
    """Set the time of every file below a directory to long ago."""
    for path in home.rglob("*"):
        os.utime(path, (_LONG_AGO, _LONG_AGO))
