"""RocksDB's snapshots: `<V>.zip`, which names the data files that belong to it.

From Spark 4.3 `state/RocksDBFileManager.scala`: the zip holds RocksDB's own small files (MANIFEST,
CURRENT, OPTIONS) and `metadata`, a versioned text:

    v1                                  v2: the same; Spark 4.0 alone writes it, in state format 2
    {"sstFiles":[{"localFileName":"000013.sst","dfsSstFileName":"000013-<uuid>.sst",
                  "sizeBytes":1280}], "logFiles":[…], "numKeys":2, "numInternalKeys":0, …}

The data files lie beside it, in `SSTs/` and `logs/`, under their second name. Nothing is unpacked
to disk; names found inside are compared with a listing, never opened.
"""

from __future__ import annotations

import io
import struct
import zlib

import msgspec

from holdfast.checkpoint.text import parse_versioned
from holdfast.checkpoint.unparsed import Unparsed

NEWEST_SNAPSHOT_VERSION = 2
LARGEST_ZIP = 256 << 20
LARGEST_METADATA = 8 << 20
"""Some 60,000 data files."""
_MEMBER = "metadata"


class DataFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A file of RocksDB's that a snapshot needs."""

    name: str
    """Below the store's directory: `SSTs/…` or `logs/…`."""
    size_bytes: int


class RocksSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a zip says."""

    version: int
    """Of its metadata: Spark reads exactly the version that it writes."""
    data_files: tuple[DataFile, ...]
    rows: int | None
    """Keys, without those Spark keeps for itself; None when Spark did not count them."""
    internal_rows: int | None
    """Keys that Spark keeps for itself: counters of a join, timers and lists' lengths."""


class _Sst(msgspec.Struct):
    name: str = msgspec.field(name="dfsSstFileName")
    size_bytes: int = msgspec.field(name="sizeBytes")


class _Log(msgspec.Struct):
    name: str = msgspec.field(name="dfsLogFileName")
    size_bytes: int = msgspec.field(name="sizeBytes")


class _Body(msgspec.Struct):
    rows: int = msgspec.field(name="numKeys")
    internal_rows: int = msgspec.field(name="numInternalKeys", default=0)
    ssts: tuple[_Sst, ...] = msgspec.field(name="sstFiles", default=())
    logs: tuple[_Log, ...] = msgspec.field(name="logFiles", default=())


_DECODER = msgspec.json.Decoder(_Body)


def parse_rocks_snapshot(path: str, raw: bytes) -> RocksSnapshot | Unparsed:
    """Read what a zip says of itself."""
    metadata = read_member(raw)
    if isinstance(metadata, str):
        return Unparsed(path=path, reason=metadata)
    text = parse_versioned(path, metadata, newest=NEWEST_SNAPSHOT_VERSION)
    if isinstance(text, Unparsed):
        return Unparsed(path=path, reason=f"its metadata: {text.reason}")
    try:
        body = _DECODER.decode(text.lines[0] if text.lines else "")
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return Unparsed(path=path, reason="its metadata does not describe a snapshot")
    ssts = (DataFile(name=f"SSTs/{each.name}", size_bytes=each.size_bytes) for each in body.ssts)
    logs = (DataFile(name=f"logs/{each.name}", size_bytes=each.size_bytes) for each in body.logs)
    return RocksSnapshot(
        version=text.version,
        data_files=(*ssts, *logs),
        rows=body.rows if body.rows >= 0 else None,
        internal_rows=body.internal_rows if body.internal_rows >= 0 else None,
    )


def read_member(raw: bytes) -> bytes | str:
    """Return the member `metadata` of a snapshot, or what is wrong with the zip."""
    import zipfile  # noqa: PLC0415 - with bz2 and lzma, for a store that most queries do not use

    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(_MEMBER) as member:
            # Python unpacks other compressions without a bound, and Java writes none.
            as_spark_does = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if archive.getinfo(_MEMBER).compress_type not in as_spark_does:
                return "its metadata is not compressed as Spark does it"
            # The size that a zip states can be a lie: read no more than we would take.
            content = member.read(LARGEST_METADATA + 1)
    except KeyError:
        return "the zip has no member named metadata"
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        OSError,
        ValueError,
        RuntimeError,  # encrypted; NotImplementedError, an unknown compression, is one too
        OverflowError,
    ):
        return "it is not a zip that can be read"
    if len(content) > LARGEST_METADATA:
        return f"its metadata is larger than {LARGEST_METADATA >> 20} MB"
    return content
