"""A driver that is paused past its lease, replaced by a second one, and resumed."""

from __future__ import annotations

import signal

from campaigns.judging import judge
from holdfast.drills.drill import Sinks
from holdfast.drills.kill import Driver, Point


def pause_and_replace(point: Point, first: Driver, second: Driver, *, work: Sinks) -> str:
    """Pause a driver, let a second one finish, and resume the first.

    Raises:
        AssertionError: Something is lost or duplicated, or the first driver ended well.
    """
    with first.start(point, strike=signal.SIGSTOP) as sleeper:
        sleeper.wait_until_halted()
        second.run_to_end()
        judge(work)
        sleeper.resume()
        ended = sleeper.wait()
    judge(work)
    assert ended.status != 0, f"the driver that was paused at {point} ended well"
    return f"paused at {point}: replaced, resumed and refused; exact"
