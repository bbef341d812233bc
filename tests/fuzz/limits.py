"""Five seconds for everything; what takes longer hangs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT_S = 5.0


class TookTooLongError(BaseException):
    """Not an `Exception`: nothing that is tried may catch it."""


@contextmanager
def time_limit(seconds: float = LIMIT_S) -> Iterator[None]:
    """Interrupt what takes longer; in the main thread only."""
    before = signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(_number: int, _frame: object) -> None:
    raise TookTooLongError
