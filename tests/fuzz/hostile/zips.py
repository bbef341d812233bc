"""Snapshots of RocksDB that are made to harm whoever opens them."""

from __future__ import annotations

import bz2
import lzma
import stat
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.hostile.case import Hostile, healthy, heavy
from tests.fuzz.writers import snapshot_metadata, zip_of

ARCHIVE = "4.2-aggregation-rocksdb"
NEWEST = "state/0/0/6.zip"
MB = 1 << 20


def _sound(name: str, make: Callable[[], bytes]) -> Hostile:
    """Return a case with a zip in the place of the newest one, which says what it should."""
    return Hostile(name=f"zip: {name}", make=lambda: healthy(ARCHIVE, {NEWEST: make()}))


def _case(name: str, make: Callable[[], bytes], *shows: str) -> Hostile:
    """Return a case with a zip that cannot be loaded."""
    return replace(_sound(name, make), names=(NEWEST,), shows=shows)


def _described(*ssts: tuple[str, int], **other: object) -> tuple[str, bytes]:
    """Return the member that says what belongs to the snapshot."""
    return "metadata", snapshot_metadata(ssts, **other)


def _twice() -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of what is made here on purpose
        return zip_of(_described(), _described())


def _linked() -> bytes:
    member = zipfile.ZipInfo("metadata")
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return zip_of((member, b"../../../../outside/canary"))


def _packed(packed: bytes, *, method: int, size_bytes: int, flags: int = 0) -> bytes:
    """Return a zip with one member `metadata`, packed by somebody else."""
    sizes = struct.pack("<III", 0, len(packed), size_bytes)
    head = struct.pack("<HHHHH", 20, flags, method, 0, 0) + sizes + struct.pack("<HH", 8, 0)
    local = b"PK\3\4" + head + b"metadata" + packed
    central = b"PK\1\2\x14\0" + head + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"metadata"
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
    return local + central + end


def _deflated_zeros(megabytes: int) -> bytes:
    """Return as many zeros, deflated; quicker than deflating them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(16 * MB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (megabytes // 16) + packer.flush()


def _lzma_zeros() -> bytes:
    packed = lzma.compress(bytes(8 * MB), lzma.FORMAT_ALONE, preset=0)
    return _packed(b"\x09\4\5\0" + packed[:5] + packed[13:], method=14, size_bytes=8 * MB)


def _patched(at: int, form: str, value: int) -> bytes:
    """Return a zip with a number of its end record changed."""
    out = bytearray(GOOD)
    struct.pack_into(form, out, GOOD.rindex(b"PK\5\6") + at, value)
    return bytes(out)


def _renamed() -> bytes:
    """Return a zip whose directory says `metadata` where the member says something else."""
    raw = zip_of(("../../xy", snapshot_metadata([])))
    at = raw.rindex(b"../../xy")
    return raw[:at] + b"metadata" + raw[at + 8 :]


GOOD = zip_of(_described())
OUTSIDE = "../../../../outside/canary"

CASES = (
    _case("a member above it", lambda: zip_of((OUTSIDE, b"x"))),
    _sound("members above it", lambda: zip_of(_described(), (OUTSIDE, b"x"))),
    _case("an absolute member", lambda: zip_of(("/outside/canary", b"x"), ("metadata", b"v1"))),
    _sound("a drive letter", lambda: zip_of(("C:\\canary", b"x"), _described())),
    _case("metadata is a link", _linked),
    _case("metadata is a directory", lambda: zip_of(("metadata/", b""))),
    _sound("two members of one name", _twice),
    _sound(
        "a name with an escape",
        lambda: zip_of(("\x1b[2J", b""), _described()),
    ),
    _case(
        "1 GB of zeros",
        lambda: _packed(_deflated_zeros(1024), method=8, size_bytes=1024 * MB),
    ),
    _case(
        "1 GB of zeros that says 10 bytes",
        lambda: _packed(_deflated_zeros(1024), method=8, size_bytes=10),
    ),
    heavy(
        _case(
            "64 MB of zeros in bzip2",
            lambda: _packed(bz2.compress(bytes(64 * MB)), method=12, size_bytes=64 * MB),
        )
    ),
    _case("8 MB of zeros in LZMA", _lzma_zeros),
    _case("an unknown compression", lambda: _packed(b"x", method=99, size_bytes=1)),
    _case("encrypted", lambda: _packed(b"x" * 20, method=0, size_bytes=8, flags=1)),
    _case("a zip in a zip", lambda: zip_of(("metadata", GOOD))),
    _case("a size of 4 GB", lambda: _packed(b"v1", method=0, size_bytes=0xFFFFFFFE)),
    _case("a size of nothing", lambda: _packed(b"v1\n{}", method=0, size_bytes=0)),
    _case("a directory beyond the end", lambda: _patched(16, "<I", 0x7FFFFFFF)),
    _case("a directory before the start", lambda: _patched(12, "<I", 0x7FFFFFFF)),
    _sound("65,535 members said", lambda: _patched(10, "<H", 0xFFFF)),
    _sound("a comment longer than the file", lambda: _patched(20, "<H", 0xFFFF)),
    _case("a directory that disagrees", _renamed),
    _sound(
        "5,000 members",
        lambda: zip_of(*((f"m{number}", b"") for number in range(5_000)), _described()),
    ),
    _case("7 MB of line ends", lambda: zip_of(("metadata", b"v1" + b"\n" * (7 * MB)))),
    _case("7 MB of brackets", lambda: zip_of(("metadata", b"v1\n" + b"[" * (7 * MB)))),
    heavy(
        _case(
            "a million data files",
            lambda: zip_of(_described(*[("", 1)] * 1_000_000)),
        )
    ),
    _case(
        "50,000 data files",
        lambda: zip_of(_described(*[("", 1)] * 50_000)),
        "SSTs/",
    ),
    _case("data above it", lambda: zip_of(_described((OUTSIDE, 6))), OUTSIDE),
    _case(
        "data with an absolute name",
        lambda: zip_of(_described(("/outside/canary", -1))),
        "SSTs//outside/canary",
    ),
    _case(
        "data with an escape in its name",
        lambda: zip_of(_described(("\x1b[2J\x9b\u202e\n", 1))),
        "\\x1b[2J",
    ),
    _case("data of absurd sizes", lambda: zip_of(_described(("a", 10**4000)))),
    _sound(
        "an absurd number of keys",
        lambda: zip_of(_described(numKeys=10**4000)),
    ),
    _sound("no number of keys", lambda: zip_of(_described(numKeys=-(10**18)))),
)
