"""Databricks Auto Loader's offset: how many files its own log had counted.

Auto Loader is closed. From public samples of offset entries and of query progress:

    {"seqNum":234,"sourceVersion":1,"lastBackfillStartTimeMs":1667453455118,
     "lastBackfillFinishTimeMs":1667453456546}

Newer releases add fields such as `lastInputPath`. Which file has which number stands in a RocksDB
store below `sources/<i>/rocksdb/` (`SSTs/`, `logs/` and its manifests), so the offset alone names
no file. Inferred schemas stand in `_schemas/<n>` below `cloudFiles.schemaLocation`, which people
often set to the checkpoint itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.checkpoint.text import whole_number

FILE_LOG = "rocksdb"
"""The directory of the file log, below `sources/<i>`."""
SCHEMAS = "_schemas"
"""The directory of the schema log, below the schema location."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoLoaderOffset:
    """How far Auto Loader's log of files has been read."""

    sequence: int
    """The number that the log gave to the newest file of the batch."""
    source_version: int
    last_backfill_ms: int | None
    """When the directory was last listed completely; None when it never was."""
    input_path: str | None
    """The directory that is read, where the offset says it."""


def make_auto_loader_offset(found: dict[str, Any]) -> AutoLoaderOffset | None:
    """Make Auto Loader's offset of a JSON object; None when it is not one."""
    sequence = whole_number(found.get("seqNum"))
    version = whole_number(found.get("sourceVersion"))
    if sequence is None or version is None:
        return None
    path = found.get("lastInputPath")
    return AutoLoaderOffset(
        sequence=sequence,
        source_version=version,
        last_backfill_ms=whole_number(found.get("lastBackfillFinishTimeMs")),
        input_path=path if isinstance(path, str) else None,
    )
