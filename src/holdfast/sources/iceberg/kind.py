"""Iceberg's offset: how far the snapshots of a table have been read.

From Iceberg 1.12 `spark/source/StreamingOffset.java`:

    {"version":1,"snapshot_id":8472937493,"position":4,"scan_all_files":false}

`position` is how many files of that snapshot have been read. Snapshot -1 is before the first one.
`sources/<i>/offsets/0` holds the same text without a version line: where the first run began.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.sources.kind import Offset, SourceKind

BEFORE_THE_FIRST = -1
"""The snapshot of an offset that has read nothing."""


class Iceberg(SourceKind):
    """Iceberg tables."""

    name = "iceberg"
    label = "iceberg table"
    asks = "holdfast.sources.iceberg.probe:ask_table"

    def parse(self, text: str) -> IcebergOffset | None:
        """Read Iceberg's offset."""
        found = parse_json_object(text) or {}
        snapshot = whole_number(found.get("snapshot_id"))
        position = whole_number(found.get("position"))
        scan_all = found.get("scan_all_files")
        if snapshot is None or position is None or not isinstance(scan_all, bool):
            return None
        return IcebergOffset(snapshot_id=snapshot, position=position, scan_all_files=scan_all)

    def parse_beginning(self, path: str, raw: bytes) -> IcebergOffset | Unparsed:
        """Read `sources/<i>/offsets/0`."""
        try:
            offset = self.parse(raw.decode())
        except UnicodeDecodeError:
            offset = None
        reason = "it holds no offset of an Iceberg table"
        return Unparsed(path=path, reason=reason) if offset is None else offset


ICEBERG = Iceberg()
KINDS = (ICEBERG,)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergOffset(Offset):
    """How far an Iceberg table has been read."""

    kind: ClassVar[SourceKind] = ICEBERG
    snapshot_id: int
    position: int
    scan_all_files: bool
    """Whether all files of the snapshot are read, as of the one that a stream began with."""

    def describe(self, source: str) -> str:
        """Name the snapshot, and the file in it."""
        return f"at snapshot {self.snapshot_id}, file {self.position:,}"
