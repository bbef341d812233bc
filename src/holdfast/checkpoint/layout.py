"""Names in a checkpoint: which file is what.

From Spark 4.3 `checkpointing/CheckpointFileManager.scala` (temp files), `HDFSMetadataLog.scala`
(batch files are those whose name is a number; everything else is ignored) and
`runtime/CompactibleFileStreamLog.scala` (`.compact`). On local disk Hadoop adds `.<name>.crc`.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from holdfast.ids import BatchId

METADATA = "metadata"
OFFSETS = "offsets"
COMMITS = "commits"
SOURCES = "sources"
STATE = "state"

# Java's long, which is what Spark parses the name as. It takes a sign too; nothing ever writes one.
_BATCH = re.compile(r"(?P<batch>0|[1-9][0-9]{0,18})(?P<compact>\.compact)?")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
_JAVA_LONG = re.compile(r"[+-]?[0-9]{1,40}")
_LARGEST = 2**63 - 1
_TEMP = re.compile(r"\.(?P<target>.+?)\.[0-9a-fA-F-]{36}(\.TID[0-9]+)?\.tmp")
_SIDECAR = re.compile(r"\.(?P<target>.+)\.crc")


class Kind(Enum):
    """What a file in a log's directory is, by its name."""

    ENTRY = "entry"
    COMPACT = "compact"
    TEMP = "temp"
    """Left behind by a writer that was stopped; Spark ignores it."""
    SIDECAR = "sidecar"
    """Hadoop's checksums of a file on local disk."""
    FOREIGN = "foreign"
    """Nothing Spark writes; Spark ignores it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A file name, understood."""

    kind: Kind
    batch_id: BatchId | None = None
    """Of an entry."""
    target: str | None = None
    """The file that a temp file would have become, or that a sidecar is for."""


def parse_number(name: str) -> int | None:
    """Return the number that a name or a setting is; None when it is none Spark would write."""
    return int(name) if _NUMBER.fullmatch(name) else None


def number_to_spark(name: str) -> int | None:
    """Return the number that Spark takes a name for, also if it would not write it so: `0007`.

    Java's `Long.parseLong` decides: a sign and zeros in front are part of a number.
    """
    if not _JAVA_LONG.fullmatch(name):
        return None
    number = int(name)
    return number if -_LARGEST - 1 <= number <= _LARGEST else None


@lru_cache(maxsize=8_192)
def parse_name(path: str) -> Name:
    """Say what a file in a log's directory is."""
    name = posixpath.basename(path)
    if (matched := _BATCH.fullmatch(name)) and int(matched["batch"]) <= _LARGEST:
        kind = Kind.COMPACT if matched["compact"] else Kind.ENTRY
        return Name(kind=kind, batch_id=BatchId(int(matched["batch"])))
    if matched := _TEMP.fullmatch(name):
        return Name(kind=Kind.TEMP, target=matched["target"])
    if matched := _SIDECAR.fullmatch(name):
        return Name(kind=Kind.SIDECAR, target=matched["target"])
    return Name(kind=Kind.FOREIGN)
