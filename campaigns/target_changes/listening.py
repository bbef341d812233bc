"""What a guarded stream says while it runs, and how its batch is held at a point."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast import points
from holdfast.streams.heartbeat import THREAD

PATIENCE_S = 90.0
"""Longer than any batch or start here takes on a busy machine: what takes longer hangs."""
_CODE = re.compile(r"holdfast: ([A-Z][A-Z_]+[A-Z]) ")


class Codes(logging.Handler):
    """Collects the codes of the errors that batches log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the code of an error."""
        if found := _CODE.match(record.getMessage()):
            self._heard.append(found[1])

    def take(self) -> str:
        """Return the codes since the last call, joined by +; empty when there were none."""
        heard, self._heard = self._heard, []
        return "+".join(dict.fromkeys(heard))


@contextmanager
def heard_codes() -> Iterator[Codes]:
    """Listen to the log of Holdfast, and keep it off the screen."""
    logger = logging.getLogger("holdfast")
    codes, was_propagating = Codes(), logger.propagate
    logger.addHandler(codes)
    logger.propagate = False
    try:
        yield codes
    finally:
        logger.removeHandler(codes)
        logger.propagate = was_propagating


class Hold:
    """A batch that stands still at a point, until it may go on."""

    def __init__(self) -> None:
        self._is_there = threading.Event()
        self._may_go_on = threading.Event()

    def wait(self) -> bool:
        """Wait until the batch is there; return whether it came."""
        return self._is_there.wait(PATIENCE_S)

    def let_go(self) -> None:
        """Let the batch go on."""
        self._may_go_on.set()

    def stand_still(self) -> None:
        """Stand still; called by the batch."""
        self._is_there.set()
        self._may_go_on.wait(PATIENCE_S)


@contextmanager
def held_at(point: str, *, batch: int) -> Iterator[Hold]:
    """Hold a batch the first time that it reaches a point."""
    hold = Hold()
    here = [""]

    def listen(reached: str) -> None:
        if reached.startswith("batch="):
            here[0] = reached
        if reached == point and here[0] == f"batch={batch}":
            here[0] = ""
            hold.stand_still()

    points.listen(listen)
    try:
        yield hold
    finally:
        points.listen(None)
        hold.let_go()


@contextmanager
def watched(rescue: Callable[[], None]) -> Iterator[threading.Event]:
    """Give an event that is set, and call for rescue, when what is done takes too long."""
    hangs = threading.Event()

    def give_up() -> None:
        hangs.set()
        rescue()

    timer = threading.Timer(PATIENCE_S, give_up)
    timer.start()
    try:
        yield hangs
    finally:
        timer.cancel()


def wait_until_given_up() -> None:
    """Wait until every lease of this process is given up."""
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(PATIENCE_S)
