"""Looks at an Iceberg table that a stream reads, by its newest metadata file alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot, read_table
from holdfast.sources.iceberg.found import IcebergChange, IcebergSource
from holdfast.sources.iceberg.kind import BEFORE_THE_FIRST, IcebergOffset
from holdfast.sources.probe import NotProbed, Question, SourceProbe
from holdfast.storage.read import Reader

_MAX_AGE = "history.expire.max-snapshot-age-ms"
_DEFAULT_MAX_AGE_MS = 5 * 24 * 3600 * 1000
_LONGEST_MS = 100 * 365 * 24 * 3600 * 1000
"""More than this a damaged file says."""


def ask_table(question: Question) -> SourceProbe:
    """Look at the table that options name."""
    needed = question.needed
    assert isinstance(needed, IcebergOffset)
    table = question.table()
    if isinstance(table, SourceProbe):
        return table
    return probe_iceberg(question.source, needed, table, now=question.looks.now)


def probe_iceberg(
    source: str, needed: IcebergOffset, table: Reader, *, now: datetime
) -> SourceProbe:
    """Return what a table can still give to a stream.

    Args:
        source: Its place in the offset entries.
        needed: Its newest offset.
        table: Of the table's location, which has `metadata/`.
        now: When it is looked at.
    """
    shown = f"iceberg table {table.location}"
    read = read_table(table)
    if not isinstance(read, IcebergTable):
        return SourceProbe(source=source, display_name=shown, found=NotProbed(why=read.why))
    found = _find(read, needed.snapshot_id, shown)
    left, because = _countdown(read, found, now)
    return SourceProbe(
        source=source, display_name=shown, found=found, lossless_for=left, lossless_by=because
    )


def _find(table: IcebergTable, wanted: int, shown: str) -> IcebergSource:
    history = table.history()
    ids = [each.snapshot_id for each in history]
    is_start = wanted == BEFORE_THE_FIRST
    newer = history if is_start else history[: ids.index(wanted)] if wanted in ids else ()
    return IcebergSource(
        display_name=shown,
        needed=wanted,
        is_held=is_start or wanted in table.snapshots,
        is_in_history=is_start or wanted in ids,
        after=tuple(_changes(newer)),
        held=tuple(table.snapshots),
        metadata=table.path,
    )


def _changes(newer: tuple[Snapshot, ...]) -> Iterator[IcebergChange]:
    for each in reversed(newer):
        added = each.summary.get("added-records", "")
        yield IcebergChange(
            snapshot_id=each.snapshot_id,
            operation=each.operation,
            added=int(added) if added.isdecimal() and len(added) < 20 else None,
        )


def _countdown(
    table: IcebergTable, found: IcebergSource, now: datetime
) -> tuple[timedelta | None, str]:
    """Return how long the snapshot is kept; the newest one is kept as long as it is the newest."""
    if not found.is_held:
        return timedelta(0), f"snapshot {found.needed} is gone"
    if found.needed in (BEFORE_THE_FIRST, table.current_id):
        return None, ""
    text = table.properties.get(_MAX_AGE, "")
    age = int(text) if text.isdecimal() and len(text) < 16 else _DEFAULT_MAX_AGE_MS
    left = table.snapshots[found.needed].timestamp_ms + age - int(now.timestamp() * 1000)
    kept = f"expire_snapshots keeps snapshots for {age / 3_600_000:,.0f} h"
    return timedelta(milliseconds=min(max(left, 0), _LONGEST_MS)), kept
