"""What was asked for, as options give it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from shlex import quote

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A goal, and what it needs to be named."""

    goal: str
    start: str = ""
    """Where a new generation begins."""
    output: str = ""
    """What becomes of the rows that sinks hold."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """The same for single sinks, by `STREAM/SINK`."""
    cascade: bool = False
    """Whether the streams that read the output are part of it."""
    batch: int | None = None
    """The batch to go back to."""
    batches: int = 1
    """How many of the last batches to run again."""
    days: int = 0
    """How long ago something must have been left to be deleted."""
    target: str = ""
    """A new root, a new stream's name, the name of a snapshot, or the text of a mapping."""

    def command(self, named: str) -> str:
        """Return the command that asks for this.

        Args:
            named: How the stream is named: `readings --root ROOT`.
        """
        return " ".join(("holdfast plan", self.goal, named, *self._options()))

    def _options(self) -> Iterator[str]:
        if self.goal == "reset":
            yield f"--from {quote(self.start)}"
        if self.goal == "rewind":
            yield f"--to-batch {self.batch}"
        if self.goal == "replay" and self.batches > 1:
            yield f"--batches {self.batches}"
        if self.goal == "restore":
            yield f"--snapshot {self.target}"
        if self.output:
            yield f"--output {self.output}"
        for sink, output in self.outputs.items():
            yield f"--output-of {sink}={output}"
        if self.cascade:
            yield "--cascade"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan was made for: enough to make it again."""

    request: Request
    location: str
    """Of a checkpoint; with a root, the name of a stream."""
    root: str | None = None
    sources: Mapping[str, str] = {}
    """Where sources are, as they were given."""
