"""Offset entries: `offsets/<batch>`, written before a batch runs.

Grammar, from Spark 4.3 `checkpointing/OffsetSeqLog.scala` and `OffsetSeq.scala`:

    v1                                        v2 (4.2 and later, opt-in)
    <JSON object, or empty>                   <JSON object>
    <offset, or ->          per source        <source id>:<offset, or ->      per source

An entry says up to where each source is read by the end of batch <batch>; the start is the entry
before it. v1 is positional. In v2 the id ends at the first colon, and a source without an offset is
left out. An empty second line means continuous processing. An offset is whatever the source writes.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.text import parse_leading_object, parse_versioned, whole_number
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId

NEWEST_OFFSET_VERSION = 2
PARTITIONS = "spark.sql.shuffle.partitions"
"""The pinned setting that says how many partitions state has."""
_NO_OFFSET = "-"


class SourceOffset(msgspec.Struct, frozen=True, kw_only=True):
    """Where one source is at the end of a batch."""

    source: str
    """The source's place in the plan as a number (`0`), or its name in v2."""
    text: str | None
    """As the source wrote it; None when it has no offset yet."""


class OffsetMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """The second line of an offset entry."""

    batch_watermark_ms: int
    batch_timestamp_ms: int
    conf: Mapping[str, str]
    """Settings that Spark takes from here on a restart, whatever the session says."""


class OffsetEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One offset entry."""

    batch_id: BatchId
    version: int
    metadata: OffsetMetadata | None
    """None when the line is empty: written by continuous processing."""
    offsets: tuple[SourceOffset, ...]


def parse_offset_entry(path: str, batch_id: BatchId, raw: bytes) -> OffsetEntry | Unparsed:
    """Read an offset entry."""
    text = parse_versioned(path, raw, newest=NEWEST_OFFSET_VERSION)
    if isinstance(text, Unparsed):
        return text
    if not text.lines:
        return Unparsed(path=path, reason="it ends after the version line")
    metadata = _parse_metadata(path, text.lines[0])
    if isinstance(metadata, Unparsed):
        return metadata
    if metadata is None and text.version > 1:
        return Unparsed(path=path, reason="line 2 is empty, which only version v1 allows")
    lines = text.lines[1:]
    offsets = _positional(lines) if text.version == 1 else _named(path, lines)
    if isinstance(offsets, Unparsed):
        return offsets
    return OffsetEntry(batch_id=batch_id, version=text.version, metadata=metadata, offsets=offsets)


def _positional(lines: tuple[str, ...]) -> tuple[SourceOffset, ...]:
    return tuple(
        SourceOffset(source=str(place), text=None if line == _NO_OFFSET else line)
        for place, line in enumerate(lines)
    )


def _named(path: str, lines: tuple[str, ...]) -> tuple[SourceOffset, ...] | Unparsed:
    offsets = []
    for number, line in enumerate(lines, start=3):
        source, colon, offset = line.partition(":")
        if not colon or not source:
            return Unparsed(path=path, reason=f"line {number} has no source id before a colon")
        offsets.append(SourceOffset(source=source, text=None if offset == _NO_OFFSET else offset))
    return tuple(offsets)


def _parse_metadata(path: str, line: str) -> OffsetMetadata | Unparsed | None:
    if line == "":
        return None
    found = parse_leading_object(line)
    if found is None:
        return Unparsed(path=path, reason="line 2 is not a JSON object")
    watermark = whole_number(found.get("batchWatermarkMs", 0))
    timestamp = whole_number(found.get("batchTimestampMs", 0))
    conf = _settings(found.get("conf", {}))
    if watermark is None or timestamp is None or conf is None:
        return Unparsed(path=path, reason="line 2 has a field of another type than Spark writes")
    return OffsetMetadata(batch_watermark_ms=watermark, batch_timestamp_ms=timestamp, conf=conf)


def _settings(found: object) -> Mapping[str, str] | None:
    if not isinstance(found, dict):
        return None
    return found if all(isinstance(value, str) for value in found.values()) else None
