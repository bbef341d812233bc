"""What the exit code of `holdfast` means; the same table stands in docs/reference/exit-codes.md."""

from __future__ import annotations

from enum import IntEnum

from holdfast.errors import HoldfastError


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


CODES: dict[str, ExitCode] = {
    "holdfast.errors.ConfigError": ExitCode.USAGE,
    "holdfast.errors.LocationError": ExitCode.USAGE,
    "holdfast.errors.MissingExtraError": ExitCode.USAGE,
    "holdfast.errors.ReadError": ExitCode.NOT_JUDGED,
    "holdfast.drills.errors.DrillError": ExitCode.NOT_JUDGED,
    "holdfast.streams.program_check.ProgramNotCheckedError": ExitCode.NOT_JUDGED,
    "holdfast.apply.errors.InterruptedPlanError": ExitCode.STOPPED,
    # Whether the store made the change is not known, so it is not "nothing was changed".
    "holdfast.errors.WriteError": ExitCode.STOPPED,
    "holdfast.streams.backfill.errors.BackfillStoppedError": ExitCode.STOPPED,
    "holdfast.errors.HoldfastError": ExitCode.REFUSED,
}
"""By the full name of the error's class: importing each of them would cost every command 50 ms."""


def exit_code_of(error: HoldfastError) -> ExitCode:
    """Return the exit code of an error: its own, or that of the nearest kind it belongs to."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next(CODES[name] for name in names if name in CODES)
