"""Where frames end, however the stream is cut into chunks."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.formats.event_log.zstd_frames import MAGIC, take_whole_frames

_EMPTY_BLOCK, _LAST_BLOCK = b"\0\0\0", b"\1\0\0"
_HEAD = MAGIC + b"\0\0"
FRAME = _HEAD + b"\x20\0\0abcd" + b"\x03\0\0x"
CHECKED = MAGIC + b"\4\0" + _LAST_BLOCK + b"sums"


def cut(text: bytes, size: int) -> Iterator[bytes]:
    return (text[at : at + size] for at in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1_000, 300_000])
def test_whole_frames_are_given_whatever_the_chunks_are(size: int) -> None:
    whole = (FRAME + CHECKED) * (100 if size < 1_000 else 30_000)
    assert b"".join(take_whole_frames(cut(whole, size))) == whole
    with pytest.raises(BrokenBytesError, match="in the middle of a zstd frame"):
        list(take_whole_frames(cut(whole + FRAME[:-1], size)))
    with pytest.raises(BrokenBytesError, match="no zstd frame"):
        list(take_whole_frames(cut(whole + b"else", size)))


@pytest.mark.parametrize(
    "hostile", [_HEAD + _EMPTY_BLOCK * 300_000, (_HEAD + _LAST_BLOCK) * 20_000]
)
def test_what_was_looked_at_is_not_looked_at_again(hostile: bytes) -> None:
    begun = time.process_time()
    with pytest.raises(BrokenBytesError):
        list(take_whole_frames(cut(hostile + _HEAD, 1_000)))
    assert time.process_time() - begun < 2
