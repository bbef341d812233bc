"""What Holdfast writes into a table: the ledger row as a property, and notes in its snapshots.

The property is the ledger. It names the snapshot that it was committed with: a table that was
rolled back keeps its properties. The notes say which batch a snapshot ends with, for plans.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.formats.iceberg_metadata import Snapshot
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.row_json import row_from, row_values

_STREAM = "holdfast.stream"
_GENERATION, _BATCH, _DATA = "holdfast.generation", "holdfast.batch", "holdfast.data"
_RESTORED = "holdfast.restored"


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What the summary of a snapshot says of a stream."""

    stream: str
    generation: int
    last_batch: int
    data: int | None = None
    """The snapshot before it that has the rows of the batch and no note of its own."""
    restored: int | None = None
    """The snapshot whose rows a plan has brought back with it."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger row as the property of a table has it."""

    row: LedgerRow
    snapshot: int
    """The newest one of `main` when it was written."""
    uuid: str
    """Of the table that it was written into."""


def property_of(stream: str) -> str:
    """Return the property that has the ledger row of a stream."""
    return f"holdfast.{stream}"


def streams_in(properties: Mapping[str, str]) -> list[str]:
    """Return the streams that have a ledger row among the properties of a table."""
    names = (name.removeprefix("holdfast.") for name in properties if name.startswith("holdfast."))
    return sorted(name for name in names if decode_row(properties[property_of(name)]) is not None)


def branch_prefix(stream: str) -> str:
    """Return how the names of the branches begin on which a stream stages its batches."""
    return f"hf_{hashlib.sha256(stream.encode()).hexdigest()[:10]}_"


def branch_of(stream: str, epoch: int) -> str:
    """Return the branch on which one driver stages its batches: nobody else writes to it."""
    return f"{branch_prefix(stream)}{epoch}"


def encode_row(row: LedgerRow, *, snapshot: int, uuid: str) -> str:
    """Return a row as the property has it."""
    return json.dumps({**row_values(row), "snapshot": snapshot, "uuid": uuid})


def decode_row(text: str) -> Written | None:
    """Return what a property says; None when it holds no row."""
    found = parse_json_object(text) or {}
    row, snapshot, uuid = row_from(found), whole_number(found.get("snapshot")), found.get("uuid")
    if row is None or snapshot is None or not isinstance(uuid, str):
        return None
    return Written(row=row, snapshot=snapshot, uuid=uuid)


def encode_note(
    row: LedgerRow, *, data: int | None = None, restored: int | None = None
) -> dict[str, str]:
    """Return the notes of the snapshot that a row is committed with."""
    others = {_DATA: data, _RESTORED: restored}
    return {
        _STREAM: row.stream,
        _GENERATION: str(row.generation),
        _BATCH: str(row.last_batch),
        **{name: str(value) for name, value in others.items() if value is not None},
    }


def decode_note(snapshot: Snapshot | None) -> Note | None:
    """Return what a snapshot's summary says; None when it is no snapshot of Holdfast."""
    found = {} if snapshot is None else snapshot.summary
    numbers = [_number(found.get(name)) for name in (_GENERATION, _BATCH)]
    if _STREAM not in found or None in numbers:
        return None
    generation, batch = (number or 0 for number in numbers)
    return Note(
        stream=found[_STREAM],
        generation=generation,
        last_batch=batch,
        data=_number(found.get(_DATA)),
        restored=_number(found.get(_RESTORED)),
    )


def _number(text: str | None) -> int | None:
    digits = (text or "").removeprefix("-")
    return int(text or "") if digits.isdecimal() and len(digits) < 20 else None
