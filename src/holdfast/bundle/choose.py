"""Which files of a checkpoint and of a record go into a bundle, and in which order.

The content of state files never does: it is the user's data. A RocksDB snapshot is cut down to the
list of its files.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from enum import Enum

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE, Kind, parse_name
from holdfast.checkpoint.state.rocksdb import read_member
from holdfast.record.layout import BATCHES, HOME
from holdfast.storage.read import FileInfo

LARGEST_FILE = 4 << 20
"""A larger file is left out."""
LARGEST_BUNDLE = 64 << 20
"""Content of all files together, before compression; the most important come first."""
MOST_FILES = 100_000
"""A checkpoint with more files is not packed."""
_STATE_METADATA = re.compile(rf"{STATE}/[0-9]+/(?:.*/)?(?:_metadata|_stateSchema)/.+")
_SNAPSHOT = re.compile(rf"{STATE}/.+\.zip")
_FIRST = {METADATA: 0, OFFSETS: 1, COMMITS: 1, STATE: 2, HOME: 3, SOURCES: 4}
_MADE_1980 = (1980, 1, 1, 0, 0, 0)


class Choice(Enum):
    """What becomes of a file."""

    COPIED = "copied"
    REDUCED = "reduced"
    """A RocksDB snapshot, of which only the list of its files is copied."""
    STATE_DATA = "it holds the data of the state"
    BATCH_DATA = "it holds the data of a batch"
    FOREIGN = "Spark does not write this file here"


def choose(path: str) -> Choice:
    """Say what becomes of a file, by its path below the checkpoint or `_holdfast/<stream>/…`."""
    top = path.partition("/")[0]
    if top == STATE:
        return _choose_state(path)
    if top == HOME:
        is_data = f"/{BATCHES}/" in path and not path.endswith(".json")
        return Choice.BATCH_DATA if is_data else Choice.COPIED
    kind = parse_name(path).kind
    if path == METADATA or (top == METADATA and kind is Kind.SIDECAR):
        return Choice.COPIED
    if top in (OFFSETS, COMMITS, SOURCES) and "/" in path:
        return Choice.FOREIGN if kind is Kind.FOREIGN else Choice.COPIED
    is_sidecar = kind is Kind.SIDECAR and "/" not in path
    return Choice.COPIED if is_sidecar else Choice.FOREIGN


def _choose_state(path: str) -> Choice:
    if _STATE_METADATA.fullmatch(path):
        return Choice.COPIED
    return Choice.REDUCED if _SNAPSHOT.fullmatch(path) else Choice.STATE_DATA


def importance(info: FileInfo) -> tuple[int, int, str]:
    """Return what sorts the most important files first: the newest entries of the logs."""
    name = parse_name(info.path)
    batch = name.batch_id if name.batch_id is not None else -1
    return _FIRST.get(info.path.partition("/")[0], 5), -batch, info.path


def reduce_snapshot(raw: bytes) -> bytes | None:
    """Return a RocksDB snapshot with nothing in it but the list of its files; None if unreadable.

    Its other members hold the first and the last key of every file.
    """
    metadata = read_member(raw)
    if isinstance(metadata, str):
        return None
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(METADATA, date_time=_MADE_1980), metadata)
    return made.getvalue()


def sidecar_of(path: str) -> str:
    """Return the path of Hadoop's checksums of a file."""
    directory, name = posixpath.split(path)
    return posixpath.join(directory, f".{name}.crc")
