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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.sources.kind import ONLY, Offset, Part, SourceKind

FILE_LOG = "rocksdb"
"""The directory of the file log, below `sources/<i>`."""
SCHEMAS = "_schemas"
"""The directory of the schema log, below the schema location."""


class AutoLoader(SourceKind):
    """Files that Auto Loader finds."""

    name = "auto-loader"
    label = "files of Auto Loader"
    unit = "file"

    def parse(self, text: str) -> AutoLoaderOffset | None:
        """Read Auto Loader's offset."""
        found = parse_json_object(text) or {}
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


AUTO_LOADER = AutoLoader()
KINDS = (AUTO_LOADER,)


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoLoaderOffset(Offset):
    """How far Auto Loader's log of files has been read."""

    kind: ClassVar[SourceKind] = AUTO_LOADER
    sequence: int
    """The number that the log gave to the newest file of the batch."""
    source_version: int
    last_backfill_ms: int | None
    """When the directory was last listed completely; None when it never was."""
    input_path: str | None
    """The directory that is read, where the offset says it."""

    def describe(self, source: str) -> str:
        """Name the file by its number."""
        return f"at file {self.sequence:,} of its log"

    def numbers(self) -> Mapping[Part, int]:
        """Return the number of the newest file."""
        return {ONLY: self.sequence}
