"""What a backfill would do: values that the command prints, and the run follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.sinks.sink import SinkSpec

REPEATS, SKIPS = "repeats-data", "skips-data"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRange:
    """One partition of a topic, or one source of another kind."""

    shown: str
    """`readings/0`, or `versions`."""
    start: int
    end: int
    """Not part of the range."""
    expired: int = 0
    """How many of it are gone for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """What a backfill reads of one source."""

    source: str
    unit: str
    """What is counted: `offsets`, `versions`, or `entries` of the log of files."""
    parts: tuple[PartRange, ...]

    @property
    def size(self) -> int:
        """How much is in the range."""
        return sum(part.end - part.start for part in self.parts)

    @property
    def expired(self) -> int:
        """How much of it is gone for good."""
        return sum(part.expired for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkPart:
    """What a backfill does to one sink."""

    label: str
    shown: str
    effect: str
    """What happens to a row that the sink already has."""
    chunks: int
    """How many chunks it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a backfill does only if it is allowed."""

    word: str
    """As for `--allow`: `repeats-data:readings`."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """What a backfill would do. Nothing was changed to find it out."""

    stream: str
    name: str
    """Of the backfill in the ledger."""
    start: str
    """Where it begins, as canonical JSON."""
    end: str
    chunks: int
    done: int
    """How many chunks every sink holds already."""
    sources: tuple[SourcePart, ...]
    sinks: tuple[SinkPart, ...]
    doubts: tuple[str, ...]
    """Why the rows can be others than the stream would give."""
    needs: tuple[Need, ...]

    @property
    def is_done(self) -> bool:
        """Whether every sink holds every chunk."""
        return self.done == self.chunks


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillProgress:
    """How far a backfill has got."""

    name: str
    done: int
    """How many chunks every sink holds."""
    chunks: int
    read: int
    """How much of the sources these chunks have: offsets, versions, entries of a file log."""
    size: int
    """How much the whole range has."""
    seconds_per_chunk: float
    """Of those that this run has written; 0 before the first."""


def effect_on(sink: SinkSpec) -> str:
    """Say what a sink does with a row that it already has."""
    if sink.keys:
        keys = ", ".join(sink.keys)
        return f"merges by {keys}: a row with a newer {sink.sequence_by} stays"
    return "appends: a row that it already has would be there twice"


def find_fatal(sinks: Sequence[SinkSpec]) -> str | None:
    """Say why the sinks of a stream cannot take a backfill at all; None when they can."""
    for sink in sinks:
        if sink.keys and sink.sequence_by is None:
            return (
                f"{sink.shown} merges by {', '.join(sink.keys)} without sequence_by: an older row "
                "of the range would replace a newer one."
            )
    return None


def describe_needs(stream: str, *, repeats: str | None, expired: int) -> tuple[Need, ...]:
    """Return what a backfill needs to be allowed.

    Args:
        stream: Its name.
        repeats: Why its rows may be in a sink already; None if they are not, or it does not matter.
        expired: How many offsets are gone for good.
    """
    needs = []
    if repeats is not None:
        needs.append(Need(word=f"{REPEATS}:{stream}", why=repeats))
    if expired:
        why = f"{expired:,} offsets of the range have expired: the sinks never get those records"
        needs.append(Need(word=f"{SKIPS}:{stream}", why=why))
    return tuple(needs)
