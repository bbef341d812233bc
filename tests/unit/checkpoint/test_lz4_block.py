"""Small LZ4 blocks, unpacked by hand, compared with what pyarrow makes of them."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state.lz4_block import unpack_lz4_block

PIECES = st.lists(st.binary(max_size=40) | st.sampled_from((b"\0" * 300, b"ab" * 20)), max_size=20)
"""Literals alone, long runs, and matches that overlap themselves."""


def pack(raw: bytes) -> bytes:
    packed: bytes = pa.compress(raw, codec="lz4_raw", asbytes=True)
    return packed


def unpack_with_pyarrow(packed: bytes, size: int) -> bytes | None:
    try:
        raw: bytes = pa.decompress(packed, size, codec="lz4_raw", asbytes=True)
    except (pa.ArrowException, OSError):
        return None
    return raw


@given(PIECES.map(lambda pieces: b"".join(pieces * 2)))
def test_it_unpacks_what_pyarrow_packs(raw: bytes) -> None:
    assert unpack_lz4_block(pack(raw), len(raw)) == raw


@given(PIECES.map(b"".join), st.integers(min_value=-20, max_value=20).filter(bool))
def test_a_block_of_another_length_than_it_says_is_refused(raw: bytes, more: int) -> None:
    with pytest.raises(BrokenBytesError):
        unpack_lz4_block(pack(raw), len(raw) + more)


@given(PIECES.map(b"".join).filter(bool), st.data())
def test_a_damaged_block_is_refused_or_is_what_pyarrow_makes_of_it(
    raw: bytes, data: st.DataObject
) -> None:
    packed = bytearray(pack(raw))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] = data.draw(st.integers(0, 255))
    damaged = bytes(packed[: data.draw(st.sampled_from((None, place)))])
    try:
        found = unpack_lz4_block(damaged, len(raw))
    except BrokenBytesError:
        return
    assert found == unpack_with_pyarrow(damaged, len(raw))


@given(st.binary(max_size=100), st.integers(0, 200))
def test_any_bytes_are_a_block_or_refused(packed: bytes, size: int) -> None:
    with suppress(BrokenBytesError):
        assert len(unpack_lz4_block(packed, size)) == size
