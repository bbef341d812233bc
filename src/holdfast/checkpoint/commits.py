"""Commit entries: `commits/<batch>`, written after a batch's sink write has returned.

Grammar, from Spark 4.3 `checkpointing/CommitLog.scala`:

    v<1|2|3>
    <JSON object, may be absent>

An entry says that batch <batch> is done. Its absence says nothing: the write may have finished and
the process died before the entry. v2 adds `stateUniqueIds` (which state files count, RocksDB state
format 2), v3 `sinkMetadataMap`, the only place that names the sink.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.text import parse_leading_object, parse_versioned, whole_number
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId

NEWEST_COMMIT_VERSION = 3

StateIds = tuple[tuple[str, ...], ...]
"""Per partition, the ids of its stores."""


class NamedSink(msgspec.Struct, frozen=True, kw_only=True):
    """A sink as a commit entry names it."""

    name: str
    provider: str | None
    """The Java class of the sink; None when the entry does not say."""
    is_active: bool
    """Whether the batch was written to it; earlier sinks of the query stay listed."""


class CommitEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One commit entry."""

    batch_id: BatchId
    version: int
    next_watermark_ms: int | None
    """Watermark the *next* batch starts from; None when the entry does not say."""
    state_ids: Mapping[str, StateIds] | None
    """Operator id to the ids of its state files; None when the entry has none."""
    sinks: tuple[NamedSink, ...] | None
    """The sinks that the query has had, as the entry names them; None when it names none."""


def parse_commit_entry(path: str, batch_id: BatchId, raw: bytes) -> CommitEntry | Unparsed:
    """Read a commit entry."""
    text = parse_versioned(path, raw, newest=NEWEST_COMMIT_VERSION)
    if isinstance(text, Unparsed):
        return text
    body = parse_leading_object(text.lines[0]) if text.lines else {}
    if body is None:
        return Unparsed(path=path, reason="line 2 is not a JSON object")
    watermark, state_ids = body.get("nextBatchWatermarkMs"), body.get("stateUniqueIds")
    if watermark is not None and whole_number(watermark) is None:
        return Unparsed(path=path, reason="nextBatchWatermarkMs is not a whole number")
    parsed_ids = None if state_ids is None else _parse_state_ids(state_ids)
    if state_ids is not None and parsed_ids is None:
        return Unparsed(path=path, reason="stateUniqueIds is not lists of ids per operator")
    sinks = body.get("sinkMetadataMap")
    parsed_sinks = None if sinks is None else _parse_sinks(sinks)
    if sinks is not None and parsed_sinks is None:
        return Unparsed(path=path, reason="sinkMetadataMap is not an object per sink")
    return CommitEntry(
        batch_id=batch_id,
        version=text.version,
        next_watermark_ms=whole_number(watermark),
        # Spark does not look for them in an older version.
        state_ids=parsed_ids if text.version >= 2 else None,
        sinks=parsed_sinks,
    )


def _parse_state_ids(found: object) -> Mapping[str, StateIds] | None:
    if not isinstance(found, dict):
        return None
    parsed = {}
    for operator, partitions in found.items():
        if not isinstance(partitions, list) or not all(map(_is_list_of_ids, partitions)):
            return None
        parsed[operator] = tuple(tuple(ids) for ids in partitions)
    return parsed


def _is_list_of_ids(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)


def _parse_sinks(found: object) -> tuple[NamedSink, ...] | None:
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        return None
    return tuple(
        NamedSink(
            name=name,
            provider=provider if isinstance(provider := each.get("providerName"), str) else None,
            is_active=each.get("isActive") is True,
        )
        for name, each in found.items()
    )
