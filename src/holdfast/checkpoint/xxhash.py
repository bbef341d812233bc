"""XXH32, which lz4-java puts into every block, and which Python's library does not have.

From the xxHash specification 0.1.1: four lanes of 32 bits over 16 bytes at a time, then what is
left by fours and ones. About 10 MB a second.
"""

from __future__ import annotations

import struct

_P1, _P2, _P3, _P4, _P5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_MASK = 0xFFFFFFFF


def xxh32(content: bytes, seed: int) -> int:
    """Return the hash of a content."""
    length = len(content)
    whole = length - length % 16
    value = _mix(memoryview(content)[:whole], seed) if whole else seed + _P5
    value = value + length & _MASK
    at = whole
    while at + 4 <= length:
        (word,) = struct.unpack_from("<I", content, at)
        value = _rotate(value + word * _P3 & _MASK, 17) * _P4 & _MASK
        at += 4
    for byte in content[at:]:
        value = _rotate(value + byte * _P5 & _MASK, 11) * _P1 & _MASK
    value = (value ^ value >> 15) * _P2 & _MASK
    value = (value ^ value >> 13) * _P3 & _MASK
    return value ^ value >> 16


def _mix(content: memoryview, seed: int) -> int:
    """Run the four lanes; written out, because this is where the time goes."""
    a, b, c, d = seed + _P1 + _P2 & _MASK, seed + _P2 & _MASK, seed, seed - _P1 & _MASK
    for one, two, three, four in struct.iter_unpack("<4I", content):
        a = a + one * _P2 & _MASK
        a = (a << 13 | a >> 19) * _P1 & _MASK
        b = b + two * _P2 & _MASK
        b = (b << 13 | b >> 19) * _P1 & _MASK
        c = c + three * _P2 & _MASK
        c = (c << 13 | c >> 19) * _P1 & _MASK
        d = d + four * _P2 & _MASK
        d = (d << 13 | d >> 19) * _P1 & _MASK
    return _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK
