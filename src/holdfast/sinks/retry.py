"""How long a batch is tried again while the server of its sink is away."""

from __future__ import annotations

import time

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import BatchWaits

WAIT_S = 60.0
"""How long a batch waits for a server that is away; a restart of PostgreSQL takes seconds."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0


class RetryBudget:
    """How long one batch is tried again while its server is away."""

    def __init__(self, shown: str, batch_id: int) -> None:
        """Begin with all of it."""
        self._shown = shown
        self._batch_id = batch_id
        self._since: float | None = None
        self._pause_s = _FIRST_PAUSE_S

    def wait(self, error: HoldfastError) -> bool:
        """Wait a little longer than the last time; False if there is no point, or no time left."""
        now = clock.monotonic()
        self._since = now if self._since is None else self._since
        left = WAIT_S - (now - self._since)
        if not error.retryable or left <= 0:
            return False
        emit(BatchWaits(sink=self._shown, batch=self._batch_id, seconds=left, why=error.why))
        time.sleep(min(self._pause_s, left))
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        return True
