"""What a reset was asked to do with the rows that sinks hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class OutputChoice(StrEnum):
    """What becomes of the rows that a sink holds."""

    TRUNCATE = "truncate"
    """They are taken away, and kept for undo."""
    NEW_TABLE = "new-table"
    """The code names another table from now on; this one is left alone."""
    KEEP = "keep-from-here"
    """They stay, and the new generation adds to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetRequest:
    """What was asked for."""

    start: str
    """`earliest`, `here`, or Kafka offsets as JSON."""
    output: OutputChoice
    outputs: dict[str, OutputChoice]
    """For single sinks, by `STREAM/SINK`."""

    def of(self, stream: str, sink: str) -> OutputChoice:
        """Return what was asked for one sink."""
        return self.outputs.get(f"{stream}/{sink}", self.output)
