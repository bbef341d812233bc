"""RocksDB's data files: which entry of a key counts, and what is not read is refused by name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.sst_files import LZ4, MERGE, REMOVED, STORED, block, entry, sst
from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state.sst import merge_entries, read_sst
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader


def rows_of(*files: bytes) -> list[tuple[bytes, bytes | None]]:
    storage = MemoryStorage({f"{place}.sst": raw for place, raw in enumerate(files)})
    opened = [read_sst(storage, f"{n}.sst", len(raw)) for n, raw in enumerate(files)]
    return [(each.key, each.whole_value) for each in merge_entries(opened)]


@pytest.mark.parametrize("packing", [STORED, LZ4])
def test_every_row_of_many_blocks_is_read(packing: int) -> None:
    keys = [b"key-%06d" % number for number in range(5_000)]
    blocks = [
        [entry(key, 1, value=key * 20) for key in keys[at : at + 50]] for at in range(0, 5_000, 50)
    ]
    assert rows_of(sst(blocks, packing=packing)) == [(key, key * 20) for key in keys]


def test_of_the_same_key_the_newest_entry_counts_in_whichever_file_it_is() -> None:
    one = sst(
        [[entry(b"a", 9, value=b"new"), entry(b"a", 3, value=b"old"), entry(b"b", 2, value=b"b")]]
    )
    two = sst(
        [[entry(b"a", 5, value=b"older"), entry(b"b", 7, REMOVED), entry(b"c", 1, value=b"c")]]
    )
    three = sst([[entry(b"c", 0, value=b"oldest"), entry(b"d", 4, MERGE, value=b"part")]])
    expected = [(b"a", b"new"), (b"c", b"c"), (b"d", None)]
    assert rows_of(one, two, three) == expected
    assert rows_of(three, two, one) == expected


def test_a_file_without_rows_has_none() -> None:
    assert rows_of(sst([])) == []
    assert rows_of() == []


ROWS = [[entry(b"a", 1, value=b"1")], [entry(b"b", 1, value=b"2")]]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "outside of the file"),
        (bytes(53), "does not end as a data file"),
        (sst(ROWS)[:-1], "does not end as a data file"),
        (sst(ROWS, version=6), "format version 6"),
        (sst(ROWS, ranges=1), "removes ranges of keys"),
        (sst(ROWS, packing=9), "compression 9"),
        (sst(ROWS, handles=[(0, 10), (0, 10)]), "lie over each other"),
        (sst(ROWS, handles=[(2**69, 10)]), "outside of the file"),
        (sst(ROWS, handles=[(0, 2**69)]), "makes no sense"),
        (sst([[entry(b"a", 1, 0x16)]]), "kind 0x16"),
        (sst([[(b"short", b"")]]), "no sequence number"),
        (sst(ROWS, packing=STORED).replace(b"a\1\1", b"b\1\1", 1), "does not fit its checksum"),
    ],
)
def test_what_is_not_read_is_refused_by_name(raw: bytes, why: str) -> None:
    with pytest.raises(BrokenBytesError, match=why):
        rows_of(raw)


def test_an_offset_that_no_file_system_takes_is_damage_on_disk_too(tmp_path: Path) -> None:
    raw = sst(ROWS, handles=[(2**69, 10)])
    (tmp_path / "0.sst").write_bytes(raw)
    with pytest.raises(BrokenBytesError):
        list(read_sst(open_reader(str(tmp_path)), "0.sst", len(raw)))


@given(st.binary(max_size=200), st.integers(0, 2**16))
def test_no_content_of_a_block_raises_anything_else(content: bytes, at: int) -> None:
    raw = bytearray(sst(ROWS, packing=STORED))
    place = at % len(raw)
    raw[place : place + len(content)] = block(content)
    with suppress(BrokenBytesError):
        rows_of(bytes(raw))
