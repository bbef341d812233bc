"""What can go wrong in a drill that is not the pipeline's fault."""

from __future__ import annotations

from pathlib import Path

from holdfast.drills.log import excerpt
from holdfast.errors import HoldfastError


class DriverFailedError(HoldfastError):
    """A driver that was to run to its end did not."""

    code = "DRILL_DRIVER_FAILED"

    def __init__(self, *, status: str, log: Path) -> None:
        self.status, self.log = status, log
        super().__init__(
            what="The driver did not run to its end.",
            why=f"It ended with {status}. From its log:\n{excerpt(log)}",
            how=f"Read {log}.",
        )


class KillDidNotFireError(HoldfastError):
    """A driver that was to be killed at a point ended some other way: nothing was tested."""

    code = "DRILL_KILL_DID_NOT_FIRE"

    def __init__(self, point: str, *, status: str, log: Path) -> None:
        self.point, self.status, self.log = point, status, log
        super().__init__(
            what=f"The kill {point} did not fire.",
            why=f"The driver ended with {status}. From its log:\n{excerpt(log)}",
            how="Check that the run reaches that point. A kill that does not fire proves nothing.",
        )
