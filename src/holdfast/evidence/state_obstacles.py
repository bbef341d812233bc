"""What is in the place of a state file: directories, and names that Spark reads as a number.

From Spark 4.2 `HDFSBackedStateStoreProvider.scala` and `RocksDBFileManager.scala`: a directory
named `8.delta` or `8.changelog` ends the batch that writes version 8, and so does one in the place
of Hadoop's checksum. A name that Java reads as a number, such as `0007.snapshot`, is a snapshot of
version 7 to the HDFS-backed store, which then opens `7.snapshot`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.layout import number_to_spark
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.files import StateFileKind
from holdfast.checkpoint.state.read import Operator, Store

_NAME = re.compile(
    r"(?P<dot>\.?)(?P<number>[+-]?[0-9]+)\.(?P<kind>delta|snapshot|changelog)(?P<crc>\.crc)?"
)


class StateObstacle(msgspec.Struct, frozen=True, kw_only=True):
    """What is in the place of one version of a store."""

    path: str
    entry: str
    """The file that Spark opens or writes."""
    version: int
    is_read: bool
    """Whether Spark takes it for a snapshot that it loads; else it fails when it writes it."""


def find_state_obstacles(checkpoint: Checkpoint) -> Iterator[StateObstacle]:
    """Yield what stops Spark by its place alone among the files of the state."""
    for operator in checkpoint.state:
        for store in operator.stores:
            yield from _in_store(operator, store)


def _in_store(operator: Operator, store: Store) -> Iterator[StateObstacle]:
    files = [file for file in store.files if file.size_bytes]
    newest = max((file.version for file in files), default=0)
    kinds = (StateFileKind.SNAPSHOT, StateFileKind.ZIP)
    whole = max((file.version for file in files if file.kind in kinds), default=0)
    for path in (*operator.directories, *operator.foreign):
        home, _, name = path.rpartition("/")
        matched = _NAME.fullmatch(name) if home == store.directory else None
        version = number_to_spark(matched["number"]) if matched else None
        if matched is None or version is None or bool(matched["dot"]) != bool(matched["crc"]):
            continue
        is_snapshot = matched["kind"] == "snapshot" and not matched["crc"]
        is_written = str(version) == matched["number"] and path in operator.directories
        if is_snapshot and version > whole:
            is_read = version <= newest
        elif is_written and not is_snapshot and version > newest:
            is_read = False
        else:
            continue
        entry = posixpath.join(home, f"{version}.{matched['kind']}")
        yield StateObstacle(path=path, entry=entry, version=version, is_read=is_read)
