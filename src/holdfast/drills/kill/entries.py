"""When entries of Spark's own logs appeared, by the times of their files.

That is how a stream shows its batches that tells nothing itself: Spark writes `offsets/<batch>`
when it has planned a batch and `commits/<batch>` when the sink has returned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PREFIX = "entry="
"""Begins what is said of an entry: `entry=checkpoint/offsets/3`."""


def entries_since(began: float, *, below: Path) -> Iterator[tuple[float, str]]:
    """Yield the entries of all checkpoints below a directory that are not older than a time.

    Args:
        began: On the machine's monotonic clock, as are the times that are yielded.
        below: The directory.
    """
    ahead = time.time() - time.monotonic()
    for log in ("offsets", "commits"):
        for path in below.glob(f"**/{log}/[0-9]*"):
            with suppress(FileNotFoundError):  # Spark has purged it meanwhile
                at = path.stat().st_mtime - ahead
                if at >= began and path.name.isdecimal():
                    yield at, f"{PREFIX}{path.relative_to(below)}"
