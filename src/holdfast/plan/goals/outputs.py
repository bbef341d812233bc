"""What becomes of the rows that sinks hold, and of who reads them, as a goal was asked."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from holdfast.plan.goal import Option
from holdfast.plan.plan_file import Change
from holdfast.plan.requests import Request

RESTORE, KEEP = "restore", "keep"
CASCADE = Option(flag="--cascade", field="cascade", help="Reset the streams that read its output.")


def restored_output(to: str) -> Option:
    """Return the option of a goal that goes back: what becomes of the sinks.

    Args:
        to: Where the sinks are put back to, for the help.
    """
    return Option(
        flag="--output",
        field="output",
        choices=(RESTORE, KEEP),
        default=RESTORE,
        help=f"Whether the sinks are put back to {to}.",
    )


class OutputChoice(StrEnum):
    """What becomes of the rows that a sink holds."""

    TRUNCATE = "truncate"
    """They are taken away, and kept for undo."""
    NEW_TABLE = "new-table"
    """The code names another table from now on; this one is left alone."""
    KEEP = "keep-from-here"
    """They stay, and the new generation adds to them."""


def not_read_again(shown: str, rows: int | None) -> Change:
    """Return what an output loses, or a new one never gets.

    Args:
        shown: The output.
        rows: How many rows it has; None when that is not known.
    """
    many = "rows" if rows is None else f"{rows:,} rows"
    what = f"{many} of {shown} come from before the new generation: not read again"
    return Change(kind="skips", what=what, amount=rows)


class ResetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    start: str
    """`earliest`, `here`, or Kafka offsets as JSON."""
    output: OutputChoice
    outputs: dict[str, OutputChoice]
    """For single sinks, by `STREAM/SINK`."""

    @classmethod
    def of_request(cls, request: Request) -> ResetRequest:
        """Return what a request asks for."""
        outputs = {name: OutputChoice(each) for name, each in request.outputs.items()}
        return cls(start=request.start, output=OutputChoice(request.output), outputs=outputs)

    def of(self, stream: str, sink: str) -> OutputChoice:
        """Return what was asked for one sink."""
        return self.outputs.get(f"{stream}/{sink}", self.output)
