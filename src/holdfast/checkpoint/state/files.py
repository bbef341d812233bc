"""Names of state files: which version of a store each one holds.

From Spark 4.3 `state/HDFSBackedStateStoreProvider.scala` and `RocksDBFileManager.scala`:

    <V>.delta  <V>.snapshot                    HDFS-backed provider
    <V>.changelog  <V>.zip                     RocksDB, state format 1
    <V>_<uuid>.changelog  <V>_<uuid>.zip       RocksDB, state format 2: a batch that ran twice has
                                               two, and `stateUniqueIds` in its commit says which
    SSTs/<n>-<uuid>.sst  logs/<n>-<uuid>.log   RocksDB's data, shared by several zips
    <any of these>.crc                         Spark's own checksum

Batch N loads version N and writes version N + 1; version 0 is empty and has no file.
"""

from __future__ import annotations

import re
from enum import IntEnum

import msgspec

_NAME = re.compile(
    r"(?P<version>0|[1-9][0-9]{0,18})(_(?P<id>[0-9A-Za-z-]{1,64}))?\.(?P<kind>delta|snapshot|changelog|zip)"
)
CHECKSUM_SUFFIX = ".crc"


class StateFileKind(IntEnum):
    """What a state file holds; a number, because a checkpoint can have four million of them."""

    DELTA = 0
    SNAPSHOT = 1
    CHANGELOG = 2
    ZIP = 3

    @property
    def suffix(self) -> str:
        """How its name ends."""
        return self.name.lower()

    @property
    def is_whole(self) -> bool:
        """Whether it is a whole version, not only the changes since the one before."""
        return self in (StateFileKind.SNAPSHOT, StateFileKind.ZIP)


class StateFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file of one version of a store."""

    version: int
    kind: StateFileKind
    unique_id: str | None = None
    """Of state format 2."""
    size_bytes: int

    @property
    def name(self) -> str:
        """Its file name."""
        mark = "" if self.unique_id is None else f"_{self.unique_id}"
        return f"{self.version}{mark}.{self.kind.suffix}"


def parse_state_name(name: str, size_bytes: int) -> StateFile | None:
    """Return what a file in a store's directory is by its name; None when it is no state file."""
    matched = _NAME.fullmatch(name)
    if matched is None:
        return None
    return StateFile(
        version=int(matched["version"]),
        kind=StateFileKind[matched["kind"].upper()],
        unique_id=matched["id"],
        size_bytes=size_bytes,
    )
