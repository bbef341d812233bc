"""Checksums beside files: Hadoop's sidecars, and Spark's own.

Hadoop's `.<name>.crc`, on local disk only, from hadoop-common 3.5 `fs/ChecksumFs.java`:

    63 72 63 00 · int32 bytes per checksum (512) · one CRC-32 per that many bytes, big-endian

Spark does not verify them on the logs of a checkpoint: one that does not fit says that somebody has
changed the file since Spark wrote it, no more.

Spark's `<name>.crc` beside state files, from Spark 4.1 `ChecksumCheckpointFileManager.scala` (4.1:
always; from 4.2 with state format 2 only). Spark does verify these.

    {"algorithm":"CRC32C","value":<signed int32>,"mainFileSize":<bytes>,"timestampMs":…,"creator":…}
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import msgspec

from holdfast.checkpoint.unparsed import Unparsed

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4si")
_LARGEST = 4 << 20
"""In bytes: enough for an entry of 512 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """What Hadoop's sidecar says."""

    bytes_per_checksum: int
    checksums: tuple[int, ...]

    def fits(self, content: bytes) -> bool:
        """Return whether the content is the one that was written."""
        pieces = range(0, len(content), self.bytes_per_checksum)
        if len(pieces) != len(self.checksums):
            return False
        found = tuple(zlib.crc32(content[at : at + self.bytes_per_checksum]) for at in pieces)
        return found == self.checksums


def parse_sidecar(path: str, raw: bytes) -> Sidecar | Unparsed:
    """Read Hadoop's `.<name>.crc`."""
    if not _HEADER.size <= len(raw) <= _LARGEST or (len(raw) - _HEADER.size) % 4:
        return Unparsed(path=path, reason=f"{len(raw):,} bytes are no list of checksums")
    magic, bytes_per_checksum = _HEADER.unpack_from(raw)
    if magic != _MAGIC or bytes_per_checksum <= 0:
        return Unparsed(path=path, reason="it does not begin as Hadoop's checksums do")
    count = (len(raw) - _HEADER.size) // 4
    checksums = struct.unpack_from(f">{count}I", raw, _HEADER.size)
    return Sidecar(bytes_per_checksum=bytes_per_checksum, checksums=checksums)


class SparkChecksum(msgspec.Struct, frozen=True, kw_only=True):
    """What Spark's own checksum file says."""

    algorithm: str
    value: int
    size_bytes: int = msgspec.field(name="mainFileSize")

    def fits(self, content: bytes) -> bool | None:
        """Return whether the content is the one that was written; None for another algorithm."""
        if self.algorithm != "CRC32C":
            return None
        if len(content) != self.size_bytes:
            return False
        import google_crc32c  # noqa: PLC0415 - few checkpoints have these files

        return int(google_crc32c.value(content)) == self.value & 0xFFFFFFFF


_DECODER = msgspec.json.Decoder(SparkChecksum)


def parse_spark_checksum(path: str, raw: bytes) -> SparkChecksum | Unparsed:
    """Read Spark's `<name>.crc`."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return Unparsed(path=path, reason="it is not a checksum as Spark writes it")
