"""Delta's offset: how far a table's log has been read.

From Delta 4.4 `DeltaSourceOffset.scala`:

    {"sourceVersion":1,"reservoirId":"<table id>","reservoirVersion":12,"index":-1,
     "isStartingVersion":false}

`index` -1 is before everything in that version; an end offset usually points at the next version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.checkpoint.text import whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaOffset:
    """How far a Delta table has been read; ordered by version and index."""

    table_id: str
    version: int
    index: int
    initial_snapshot: bool
    """Whether it is still inside the snapshot that the stream began with."""


def make_delta_offset(found: dict[str, Any]) -> DeltaOffset | None:
    """Make Delta's offset of a JSON object; None when it is not one."""
    table_id = found.get("reservoirId")
    version, index = whole_number(found.get("reservoirVersion")), whole_number(found.get("index"))
    initial = found.get("isStartingVersion", False)
    if not isinstance(table_id, str) or version is None or index is None:
        return None
    if not isinstance(initial, bool):
        return None
    return DeltaOffset(table_id=table_id, version=version, index=index, initial_snapshot=initial)
