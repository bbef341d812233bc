"""A second scan: which rows of the first one still hold."""

from __future__ import annotations

import msgspec

from holdfast.fleet.rows import FleetRow
from holdfast.fleet.values import now_ms


def can_carry_over(row: FleetRow, *, most: int, judge: str) -> bool:
    """Return whether a row holds as long as the first page of the listing has not moved.

    Not the row of what could not be read. Not one of another version of Holdfast, whose rules were
    others, or for another version of Spark. Not where files beyond the page have decided. Not where
    Holdfast's record may have decided. And not where more requests are allowed now than it took:
    then what was left out can be read.

    Args:
        row: Of the earlier scan.
        most: Requests that one checkpoint may cost now.
        judge: Who judges rows now.
    """
    is_by_page = row.is_all_listed or row.so_far is not None
    is_by_record = row.stream is not None or bool(row.is_pending)
    would_read_more = bool(row.not_read) and row.so_far is not None and most > row.limit
    is_judged = row.unread is None and row.is_current and bool(row.fingerprint)
    is_judged = is_judged and row.judged_by == judge
    return is_judged and is_by_page and not is_by_record and not would_read_more


def carried_over(row: FleetRow, *, owner: str | None) -> FleetRow:
    """Return the row as it is now: seen again with one request, and not judged again."""
    return msgspec.structs.replace(row, owner=owner, requests=1, seen_ms=now_ms())
