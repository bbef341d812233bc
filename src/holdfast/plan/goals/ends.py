"""How far the sources of a stream were read: by the sinks, or by what Spark has planned."""

from __future__ import annotations

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.text import parse_json, parse_json_object
from holdfast.ids import BatchId
from holdfast.ledger.row import LedgerRow
from holdfast.plan.plain import holds_batch
from holdfast.plan.plan_file import Change
from holdfast.plan.world import StreamNow


def find_ends(now: StreamNow) -> dict[str, object]:
    """Return how far every sink holds each source; empty when no batch has run."""
    rows = _rows(now)
    if rows:
        lowest = min(rows, key=lambda row: row.last_batch)
        return parse_json_object(lowest.end_offsets) or {}
    planned = now.case.newest_planned
    if now.is_plain and holds_batch(now.case, now.query_id, planned):
        return _ends_of(now, planned)
    return _ends_of(now, now.case.newest_committed)


def repeated_ahead(now: StreamNow) -> tuple[Change, ...]:
    """Return what a sink gets again that is ahead of the one that is furthest behind."""
    if len({row.end_offsets for row in _rows(now)}) < 2:
        return ()
    what = "a sink is ahead of another, and gets again what it holds beyond that one"
    return (Change(kind="repeats", what=what),)


def find_planned(now: StreamNow) -> dict[str, object]:
    """Return how far the newest batch goes that any sink holds, or that Spark has planned."""
    rows = _rows(now)
    newest = max(rows, key=lambda row: row.last_batch, default=None)
    held = None if newest is None else parse_json_object(newest.end_offsets)
    return held or _ends_of(now, now.case.newest_planned)


def _rows(now: StreamNow) -> list[LedgerRow]:
    """Return what the ledgers say of batches; a plain stream's say what plans have done."""
    return [] if now.is_plain else [sink.row for sink in now.sinks if sink.row is not None]


def _ends_of(now: StreamNow, batch: int) -> dict[str, object]:
    entry = now.case.checkpoint.offsets.get(BatchId(batch))
    if not isinstance(entry, OffsetEntry):
        return {}
    texts = ((each.source, each.text) for each in entry.offsets if each.text is not None)
    return {source: parse_json(text) or text for source, text in texts}
