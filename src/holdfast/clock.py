"""Time, in one place: what is written down is UTC, what is waited for is monotonic."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the time of day, to be written down and shown; never compared between machines."""
    return datetime.now(tz=UTC)


def monotonic() -> float:
    """Return seconds on a clock of this process that only goes forward."""
    return time.monotonic()
