"""Checksums beside files: Hadoop's sidecars, and Spark's own.

Hadoop's `.<name>.crc`, on local disk only, from hadoop-common 3.5 `fs/ChecksumFs.java`:

    63 72 63 00 · int32 bytes per checksum (512) · one CRC-32 per that many bytes, big-endian

Spark does not verify them on the logs of a checkpoint: one that does not fit says that the file was
changed since Spark wrote it, no more. One that has not this form tells nothing of its file.

Spark's `<name>.crc` beside state files, from Spark 4.1 `ChecksumCheckpointFileManager.scala` (4.1:
always; from 4.2 with state format 2 only). Spark does verify these.

    {"algorithm":"CRC32C","value":<signed int32>,"mainFileSize":<bytes>,"timestampMs":…,"creator":…}
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import msgspec

from holdfast.checkpoint.unparsed import Unparsed

_MAGIC = b"crc\0"
_HEADER = struct.Struct(">4si")
_LARGEST = 4 << 20
"""In bytes: enough for an entry of 512 MB."""


class Sidecar(msgspec.Struct, frozen=True, kw_only=True):
    """What Hadoop's sidecar says."""

    bytes_per_checksum: int
    checksums: tuple[int, ...]

    def fits(self, content: bytes) -> bool:
        """Return whether the content is the one that was written."""
        pieces = range(0, len(content), self.bytes_per_checksum)
        if len(pieces) != len(self.checksums):
            return False
        found = (zlib.crc32(content[at : at + self.bytes_per_checksum]) for at in pieces)
        differing = [one ^ other for one, other in zip(found, self.checksums, strict=True)]
        # No change of one bit in a file changes a single bit of its checksum: then the sidecar
        # itself is damaged, and not the file.
        changed = [each for each in differing if each]
        return not changed or (len(changed) == 1 and changed[0].bit_count() == 1)

    def find_beginning(self, content: bytes) -> bytes | None:
        """Return the beginning of a content that is the one that was written; None without any."""
        last = (len(self.checksums) - 1) * self.bytes_per_checksum
        if last < 0 or not Sidecar(
            bytes_per_checksum=self.bytes_per_checksum, checksums=self.checksums[:-1]
        ).fits(content[:last]):
            return None
        found = 0
        for end in range(last + 1, min(last + self.bytes_per_checksum, len(content)) + 1):
            found = zlib.crc32(content[end - 1 : end], found)
            if found == self.checksums[-1]:
                return content[:end]
        return None


def is_stale(
    path: str, sidecar: object, content: object, *, parse: Callable[[bytes], object]
) -> bool:
    """Return whether Hadoop's sidecar does not fit a file; False where one of them is missing.

    A file that something was appended to is as it was if it still says the same. A sidecar that has
    another form than Hadoop's fits nothing: `is_sidecar` tells it apart.

    Args:
        path: Of the sidecar.
        sidecar: Its bytes; anything else if it could not be read.
        content: The bytes of the file; anything else if it could not be read.
        parse: Returns what the bytes of such a file say.
    """
    if not isinstance(sidecar, bytes) or not isinstance(content, bytes):
        return False
    parsed = parse_sidecar(path, sidecar)
    if isinstance(parsed, Unparsed):
        return True
    if parsed.fits(content):
        return False
    beginning = parsed.find_beginning(content)
    return beginning is None or parse(beginning) != parse(content)


def is_sidecar(path: str, raw: object) -> bool:
    """Return whether the bytes of a file are checksums as Hadoop writes them."""
    return isinstance(raw, bytes) and isinstance(parse_sidecar(path, raw), Sidecar)


def sidecar_of(path: str) -> str:
    """Return where Hadoop keeps the checksums of a file."""
    directory, _, name = path.rpartition("/")
    return f"{directory}/.{name}.crc" if directory else f".{name}.crc"


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
