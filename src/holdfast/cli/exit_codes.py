"""What the exit code of `holdfast` means; the same table stands in docs/reference/exit-codes.md."""

from __future__ import annotations

from enum import IntEnum

from holdfast.apply.errors import InterruptedPlanError
from holdfast.drills.errors import DrillError
from holdfast.errors import (
    ConfigError,
    HoldfastError,
    LocationError,
    MissingExtraError,
    ReadError,
    WriteError,
)
from holdfast.streams.backfill.errors import BackfillStoppedError


class ExitCode(IntEnum):
    """Exit codes of every verb."""

    DONE = 0
    """Done, and nothing was found."""

    FOUND = 1
    """Something was found: a drill failed, a table is not exact, or a start is not safe."""

    USAGE = 2
    """The arguments or the configuration are wrong."""

    NOT_JUDGED = 3
    """Something needed could not be read or understood, or a drill was inconclusive."""

    REFUSED = 4
    """Refused, and nothing was changed."""

    STOPPED = 5
    """Stopped part-way; the journal says how to continue."""

    BUG = 70
    """A bug in Holdfast."""

    INTERRUPTED = 130
    """Interrupted by Ctrl-C."""


_CODES: dict[type[HoldfastError], ExitCode] = {
    ConfigError: ExitCode.USAGE,
    LocationError: ExitCode.USAGE,
    MissingExtraError: ExitCode.USAGE,
    ReadError: ExitCode.NOT_JUDGED,
    DrillError: ExitCode.NOT_JUDGED,
    InterruptedPlanError: ExitCode.STOPPED,
    # Whether the store made the change is not known, so it is not "nothing was changed".
    WriteError: ExitCode.STOPPED,
    BackfillStoppedError: ExitCode.STOPPED,
    HoldfastError: ExitCode.REFUSED,
}


def exit_code_of(error: HoldfastError) -> ExitCode:
    """Return the exit code of an error: its own, or that of the nearest kind it belongs to."""
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
