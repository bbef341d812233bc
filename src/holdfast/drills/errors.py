"""Errors of a drill: it could not show what a kill does to the stream."""

from __future__ import annotations

from pathlib import Path

from holdfast.drills.log import excerpt
from holdfast.errors import HoldfastError


class DrillError(HoldfastError):
    """A drill could not show what a kill does to a stream."""

    code = "DRILL"


class DriverFailedError(DrillError):
    """A driver that should have run to its end failed."""

    code = "DRILL_DRIVER_FAILED"

    def __init__(self, *, status: str, log: Path) -> None:
        self.status, self.log = status, log
        super().__init__(
            what="The driver did not run to its end.",
            why=f"It ended with {status}. The end of its log:\n{excerpt(log)}",
            how=f"Read {log}.",
        )


class KillDidNotFireError(DrillError):
    """A driver that should have been killed at a point ended in another way: inconclusive."""

    code = "DRILL_KILL_DID_NOT_FIRE"

    def __init__(self, point: str, *, status: str, log: Path) -> None:
        self.point, self.status, self.log = point, status, log
        super().__init__(
            what=f"The kill {point} did not happen.",
            why=f"The driver ended with {status}. The end of its log:\n{excerpt(log)}",
            how="Check that the run reaches that point. Without the kill the run proves nothing.",
        )


class NotRepeatableError(DrillError):
    """Two undisturbed runs of a stream differ, so nothing can be compared with them."""

    code = "DRILL_NOT_REPEATABLE"

    def __init__(self, target: str, *, only_first: int, only_second: int) -> None:
        super().__init__(
            what=f"Two undisturbed runs of {target} do not write the same rows.",
            why=f"{only_first:,} rows are only in the first, {only_second:,} only in the second.",
            how="Pass a function with --read (read= in a test) that leaves out what differs every "
            "time, such as the current time.",
        )


class UndisturbedRunError(DrillError):
    """A stream fails even when nothing kills it."""

    code = "DRILL_UNDISTURBED_RUN_FAILED"

    def __init__(self, target: str, *, log: Path) -> None:
        self.log = log
        super().__init__(
            what=f"{target} failed in an undisturbed run: nothing was killed yet.",
            why=f"The end of its log, {log}:\n{excerpt(log)}",
            how="Fix the error above, then run the drill again.",
        )


class TimeLimitError(DrillError):
    """An undisturbed run of a stream did not end within the time limit."""

    code = "DRILL_TIME_LIMIT"

    def __init__(self, target: str, *, run: str, seconds: float, last: str, log: Path) -> None:
        self.seconds, self.log = seconds, log
        super().__init__(
            what=f"{target} was stopped: its {run} did not end within {seconds:.0f} s.",
            why=last,
            how=f"Allow every driver more time (--timeout {2 * seconds:.0f}), or take fewer or "
            f"smaller files as the sample. The log of this driver: {log}",
        )
