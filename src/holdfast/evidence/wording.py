"""How sources, their offsets and versions of Spark are named. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.evidence.progress import SourceRange
from holdfast.sources.kind import Amount, Offset
from holdfast.spark_versions import SparkVersion, version_text
from holdfast.wording import count


def versions(found: Sequence[SparkVersion]) -> str:
    """Return `Spark 4.0 or 4.1`."""
    names = list(map(version_text, found))
    if not names:
        return "unknown"
    return "Spark " + " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def source_kind(offset: Offset | None) -> str:
    """Name a source by its offset: the entry does not."""
    return "no offset" if offset is None else offset.named


def position(offset: Offset | None, source: str) -> str:
    """Say how far a source is read.

    Args:
        offset: Its newest.
        source: Its name in the checkpoint: `0`.
    """
    missing = "not read yet, or its offset was removed"
    return missing if offset is None else offset.describe(source)


def amount(found: Amount | None) -> str:
    """Return `12,340 records`; say when it is unknown."""
    if found is None:
        return "unknown amount"
    if found.number == 0:
        return "no data"
    # A file source counts the entries of its own log in `sources/`.
    unit = "entry of the source's log" if found.unit == "log entry" else found.unit
    return count(found.number, unit)


def describe_range(found: SourceRange) -> str:
    """Say what a source gives to a batch: `kafka sensors, 8 partitions, 12,340 records`."""
    if found.end is None:
        return source_kind(None)
    parts = len(found.end.parts())
    several = (count(parts, "partition"),) if parts else ()
    return ", ".join((found.end.named, *several, amount(found.amount)))


def describe_position(found: SourceRange) -> str:
    """Say how far a source is read: `kafka sensors, 8 partitions, offsets add up to 1,204`."""
    kind = source_kind(found.end)
    return kind if found.end is None else f"{kind}, {position(found.end, found.source)}"
