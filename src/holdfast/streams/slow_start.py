"""Says what a start is doing when it takes long: a slow store gives no other sign of life.

The first line comes after two seconds and is no warning: a first start, which loads Delta's classes
and asks brokers, takes that long on a healthy day.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from holdfast import clock
from holdfast.events import emit
from holdfast.events.starts import StartIsSlow, StartTakesTime
from holdfast.record.leases import SECONDS_OF_SILENCE

FIRST_LINE_S = 2.0


class SlowStart:
    """While it is entered, a line after 2 seconds, then a warning every 10.

    A start that is done sooner says nothing.
    """

    def __init__(
        self, stream: str, *, first_s: float = FIRST_LINE_S, pause_s: float = SECONDS_OF_SILENCE
    ) -> None:
        """Say nothing yet."""
        self._stream = stream
        self._first_s = first_s
        self._pause_s = pause_s
        self._doing = ""
        self._is_done = threading.Event()
        self._began = clock.monotonic()

    def at(self, doing: str) -> None:
        """Be told what the start does now."""
        self._doing = doing

    def pause(self) -> None:
        """Say nothing until it is told something else: another line says what is waited for."""
        self._doing = ""

    def __enter__(self) -> Self:
        threading.Thread(target=self._tell, name="holdfast-start", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_done.set()

    def _tell(self) -> None:
        if self._is_done.wait(self._first_s):
            return
        if self._doing:
            emit(StartTakesTime(stream=self._stream, doing=self._doing))
        while not self._is_done.wait(self._pause_s):
            if not self._doing:
                continue
            waited = clock.monotonic() - self._began
            emit(StartIsSlow(stream=self._stream, seconds=waited, doing=self._doing))
