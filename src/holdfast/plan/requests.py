"""What was asked for, as options give it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

LONGEST_DAYS = 36_500
"""The most that a generation can have been left ago: a century."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A goal, and what it needs to be named."""

    goal: str
    start: str = ""
    """Where a new generation begins."""
    output: str = ""
    """What becomes of the rows that sinks hold."""
    outputs: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The same for single sinks, by `STREAM/SINK`."""
    cascade: bool = False
    """Whether the streams that read the output are part of it."""
    end: str = ""
    """Where a range ends; not part of it."""
    chunk: int | None = None
    """How much of each source one chunk of a range has at most."""
    batch: int | None = None
    """The batch to go back to."""
    batches: int = 1
    """How many of the last batches to run again."""
    days: int = 0
    """How long ago something must have been left to be deleted."""
    query_id: str = ""
    """The id, or the name, of a plain query whose checkpoint is gone."""
    target: str = ""
    """A new root, a new stream's name, the name of a snapshot, or the text of a mapping."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan was made for: enough to make it again."""

    request: Request
    location: str
    """Of a checkpoint; with a root, the name of a stream."""
    root: str | None = None
    sources: Mapping[str, str] = {}
    """Where sources are, as they were given."""
    sinks: tuple[str, ...] = ()
    """Of plain streams, as they were given."""
    event_log: str | None = None
    among: str | None = None
    """Where other checkpoints are."""
