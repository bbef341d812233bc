"""What the commits of a stream carry as their user metadata: a ledger row, or a fence."""

from __future__ import annotations

import json
from dataclasses import replace

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.formats.delta_log import Commit
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.row_json import row_from, row_values

_FENCE, _ROW = "fence", "row"


def encode_row(
    row: LedgerRow,
    *,
    fenced_at: int | None = None,
    table_id: str | None = None,
    seen: int | None = None,
) -> str:
    """Return the user metadata of a commit that carries a row, written behind a fence.

    Args:
        row: The row.
        fenced_at: The version of the commit that has its fence.
        table_id: Of the table that it is written into.
        seen: The newest version that its driver had looked at: what came later it did not know.
    """
    return json.dumps(
        {
            "holdfast": _ROW,
            **row_values(row),
            "fenced_at": fenced_at,
            "table_id": table_id,
            "seen": seen,
        }
    )


def encode_fence(*, epoch: int, nonce: str) -> str:
    """Return the user metadata of a fence."""
    return json.dumps({"holdfast": _FENCE, "epoch": epoch, "nonce": nonce})


def encode_replaced(query_id: str) -> str:
    """Return the user metadata of the fence against a query's own sink."""
    return json.dumps({"holdfast": "replaced", "query_id": query_id})


def decode_row(note: str) -> LedgerRow | None:
    """Return the row that a commit carries; None when it carries none."""
    found = parse_json_object(note) or {}
    return row_from(found) if found.get("holdfast") == _ROW else None


def is_fence(commit: Commit) -> bool:
    """Return whether a commit is the fence of an epoch."""
    return (parse_json_object(commit.note) or {}).get("holdfast") == _FENCE


def fence_of(commit: Commit) -> int | None:
    """Return the version of the commit that has the fence of a row's epoch."""
    return whole_number((parse_json_object(commit.note) or {}).get("fenced_at"))


def table_of(commit: Commit) -> str | None:
    """Return the id of the table that a row was written into; None in rows of older versions."""
    found = (parse_json_object(commit.note) or {}).get("table_id")
    return None if found is None else str(found)


def seen_by(commit: Commit) -> int:
    """Return up to which version the driver of a row had looked; rows of older versions: to it."""
    found = whole_number((parse_json_object(commit.note) or {}).get("seen"))
    return commit.version - 1 if found is None else found


def fenced(row: LedgerRow, commit: Commit) -> LedgerRow:
    """Return a row with the epoch and the nonce of a fence."""
    fence = parse_json_object(commit.note) or {}
    epoch = whole_number(fence.get("epoch"))
    if epoch is None:
        return row
    return replace(row, epoch=epoch, nonce=str(fence.get("nonce")))
