"""State files and schemas whose lengths lie, and that unpack to far more than they are."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.hostile.case import Files, Hostile, entry, healthy, heavy
from tests.fuzz.writers import END, compress, lz4_block, lzf_chunk, snappy_blocks, stored, utf

ARCHIVE = "4.2-aggregation"
HOME = "state/0/0/"
NEWEST = f"{HOME}6.delta"
MB = 1 << 20
ROW = struct.pack(">i", 4) + b"key!" + struct.pack(">i", 4) + b"rowX"


def _checkpoint(files: Files, *gone: str) -> Files:
    """Return a checkpoint whose first store has no file that ends so, and has these."""
    kept = {
        path: raw
        for path, raw in healthy(ARCHIVE).items()
        if not (path.startswith(HOME) and path.endswith(gone))
    }
    return {**kept, **files}


def _loaded(name: str, raw: bytes | Callable[[], bytes]) -> Hostile:
    """Return a case of the newest changes, which are loaded where there is no snapshot."""

    def make() -> Files:
        return _checkpoint({NEWEST: raw if isinstance(raw, bytes) else raw()}, ".snapshot")

    return Hostile(name=f"state: {name}", make=make)


def _broken(name: str, raw: bytes | Callable[[], bytes]) -> Hostile:
    """Return a case of changes that must be named as damaged."""
    return replace(_loaded(name, raw), names=(NEWEST,))


def _endless(name: str, raw: bytes | Callable[[], bytes]) -> Hostile:
    """Return a case of more changes than are counted."""
    return heavy(replace(_loaded(name, raw), shows=("bytes hold more than",)))


def _files(name: str, files: Files, *names: str) -> Hostile:
    return Hostile(name=f"state: {name}", make=lambda: _checkpoint(files, ".snapshot"), names=names)


def _only(name: str, files: Files, *names: str) -> Hostile:
    """Return a case whose store has no other state file than these."""
    gone = (".snapshot", ".delta")
    return Hostile(name=f"state: {name}", make=lambda: _checkpoint(files, *gone), names=names)


def _zeros(codec: str, megabytes: int) -> bytes:
    return compress(codec, bytes(megabytes * MB))


def _lz4_zeros() -> bytes:
    return lz4_block(_zeros("lz4_raw", 32), 32 * MB)


def _row_of_zeros(megabytes: int) -> bytes:
    """Return one record with a value of zeros, as zstd."""
    head = compress("zstd", ROW[:8] + struct.pack(">i", megabytes * MB))
    return head + _zeros("zstd", 128) * (megabytes // 128) + compress("zstd", END)


def _snappy_zeros(megabytes: int) -> bytes:
    block = _zeros("snappy", 16)
    return snappy_blocks(*[(len(block), block)] * (megabytes // 16))


LZF_BOMB = lzf_chunk(b"\0x" + b"\xe0\xff\0" * 21_000, 65_535)
SCHEMA = "state/0/0/_metadata/schema"

CASES = (
    _broken("a key of 2 GB", stored(struct.pack(">i", 2**31 - 1) + b"k")),
    _broken("a key below nothing", stored(struct.pack(">i", -2))),
    _broken("a value of 2 GB", stored(ROW[:8] + struct.pack(">i", 2**31 - 1))),
    _broken("a value below nothing", stored(ROW[:8] + struct.pack(">i", -2))),
    _broken("LZ4, a block that says 2 GB", lz4_block(b"x", 2**31 - 1)),
    _broken("LZ4, a block below nothing", lz4_block(b"x", -5)),
    _broken("LZ4, packed below nothing", lz4_block(b"x", 5, packed_bytes=-5)),
    _broken("LZ4, 64 MB that are not there", lz4_block(b"x", 5, packed_bytes=64 * MB)),
    _broken(
        "LZ4, a block shorter than it says",
        lz4_block(compress("lz4_raw", ROW + END), 64 * MB),
    ),
    _broken("LZ4, 1 MB of blocks with nothing in them", lz4_block(b"", 0) * 50_000),
    _endless("LZ4, 64 MB of zeros", lambda: _lz4_zeros() * 2),
    _endless("zstd, 1 GB of zeros", lambda: _zeros("zstd", 128) * 8),
    _broken("zstd, 1 GB of one key", lambda: _row_of_zeros(1024)),
    _endless("snappy, 16 MB of zeros", lambda: _snappy_zeros(16)),
    _broken("zstd, a window of 2 GB", b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00"),
    _broken(
        "zstd, a content of 2 EB",
        b"\x28\xb5\x2f\xfd\xe0" + b"\x7f" * 8 + b"\x01\0\0",
    ),
    _broken("snappy, a block of 2 GB", snappy_blocks((2**31 - 1, b"x"))),
    _broken("snappy, a block below nothing", snappy_blocks((-1, b"x"))),
    _broken(
        "snappy, a block that says 4 GB",
        snappy_blocks((6, b"\xff\xff\xff\xff\x0f\0")),
    ),
    _broken("snappy, a length without end", snappy_blocks((5, b"\xff" * 5))),
    heavy(_broken("snappy, 1 MB of empty blocks", snappy_blocks(*[(1, b"\0")] * 200_000))),
    _broken(
        "LZF, a chunk that refers before itself",
        lzf_chunk(b"\xff\xff\xff\xff", 300),
    ),
    heavy(_broken("LZF, 5 MB of one chunk", LZF_BOMB)),
    heavy(_broken("LZF, 1 MB of chunks with nothing in them", b"ZV\0\0\0" * 200_000)),
    _broken("no codec at all", b"\x1b[2J" * 10),
    _broken("nothing", b""),
    _broken("nothing packed", stored(b"")),
    _only(
        "only versions that come later",
        {"state/0/0/900.snapshot": stored(END)},
        NEWEST,
    ),
    _only(
        "the last version there can be",
        {f"state/0/0/{2**63 - 1}.delta": b"", f"state/0/0/{2**63 - 1}.snapshot": b""},
        NEWEST,
    ),
    _files("the operator 999,999,999", {"state/999999999/999999999/1.delta": b""}),
    _files("versions of 19 nines", {"state/0/0/9999999999999999999.delta": b""}),
    _files("a schema in 2 billion pieces", {SCHEMA: utf("v2") + b"\x7f\xff\xff\xff"}, SCHEMA),
    _files("a schema of 2 billion families", {SCHEMA: utf("v3") + b"\x7f\xff\xff\xff"}, SCHEMA),
    _files(
        "a schema of 10,000 brackets",
        {SCHEMA: utf("v1") + utf("[" * 10_000) + utf("[" * 10_000)},
        SCHEMA,
    ),
    _files("a schema with escapes", {SCHEMA: utf("\x1b[2J")}, SCHEMA),
    _files(
        "a checksum file of absurd numbers",
        {
            f"{NEWEST}.crc": b'{"algorithm":"CRC32C","value":%s,"mainFileSize":%s}'
            % (b"9" * 4_000, b"9" * 4_000)
        },
        NEWEST,
    ),
    _files("a pending batch of everything", {"offsets/6": entry("1")}),
)
