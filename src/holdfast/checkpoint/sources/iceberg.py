"""Iceberg's offset: how far the snapshots of a table have been read.

From Iceberg 1.12 `spark/source/StreamingOffset.java`:

    {"version":1,"snapshot_id":8472937493,"position":4,"scan_all_files":false}

`position` is how many files of that snapshot have been read. Snapshot -1 is before the first one.
`sources/<i>/offsets/0` holds the same text without a version line: where the first run began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.checkpoint.unparsed import Unparsed

BEFORE_THE_FIRST = -1
"""The snapshot of an offset that has read nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergOffset:
    """How far an Iceberg table has been read."""

    snapshot_id: int
    position: int
    scan_all_files: bool
    """Whether all files of the snapshot are read, as of the one that a stream began with."""


def make_iceberg_offset(found: dict[str, Any]) -> IcebergOffset | None:
    """Make Iceberg's offset of a JSON object; None when it is not one."""
    snapshot, position = whole_number(found.get("snapshot_id")), whole_number(found.get("position"))
    scan_all = found.get("scan_all_files")
    if snapshot is None or position is None or not isinstance(scan_all, bool):
        return None
    return IcebergOffset(snapshot_id=snapshot, position=position, scan_all_files=scan_all)


def parse_initial_offset(path: str, raw: bytes) -> IcebergOffset | Unparsed:
    """Read `sources/<i>/offsets/0` of an Iceberg source."""
    try:
        found = parse_json_object(raw.decode())
    except UnicodeDecodeError:
        found = None
    offset = None if found is None else make_iceberg_offset(found)
    if offset is None:
        return Unparsed(path=path, reason="it holds no offset of an Iceberg table")
    return offset
