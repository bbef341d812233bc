"""What a look into the state files that the next start loads finds, and what follows from it.

Version 6 is loaded, version 5 when batch 5 is pending. Where Spark 4.2 was tried with the same
damage (tests/spark), the truth is what it did.
"""

from __future__ import annotations

import pytest

from holdfast.evidence import Refuses, Unknown
from tests.unit.evidence.damaged import (
    KINDS,
    Damage,
    Forbidden,
    Truth,
    damaged,
    drop_last,
    empty,
    every,
    halve,
    inspected,
    on_table,
    opened,
    remove,
    rewrite,
    scramble,
    swap,
    truth_of,
    write,
)

SCHEMA = "state/0/0/_metadata/schema"
PENDING = remove("commits/5")
NOT_LOADED = "CANNOT_LOAD_STATE_STORE"
SST = "state/0/0/6*.zip"
WRONG_SUMS = every(
    *(write(f"state/0/0/.{name}.crc", b"crc\0\0\0\2\0" + bytes(4)) for name in ("6.zip", "2.zip"))
)
FLIPPED = swap('"value":', '"value":1')

OPENED: dict[str, dict[str, tuple[Damage, Truth]]] = {
    "deltas": {
        "newest-cut": (rewrite("state/0/0/6.delta", halve), (NOT_LOADED, 6)),
        "newest-cut-by-hand": (
            rewrite("state/0/0/6.delta", halve, sidecars=False),
            (NOT_LOADED, 6),
        ),
        "newest-not-compressed": (rewrite("state/0/0/6.delta", scramble), (NOT_LOADED, 6)),
        "first-cut": (rewrite("state/0/0/1.delta", halve), (NOT_LOADED, 6)),
        "without-its-last-byte": (rewrite("state/0/0/6.delta", drop_last), 6),
        "pending-newer-scrambled": (every(PENDING, rewrite("state/0/?/6.delta", scramble)), 5),
        "schema-empty": (rewrite(SCHEMA, empty), "STREAM_FAILED"),
        "schema-cut": (rewrite(SCHEMA, halve), "STREAM_FAILED"),
        "schema-of-a-newer-version": (rewrite(SCHEMA, swap("v2", "v9")), "STREAM_FAILED"),
    },
    "snapshot": {
        "cut": (rewrite("state/0/?/3.snapshot", halve), 6),
        "not-compressed": (rewrite("state/0/?/3.snapshot", scramble), 6),
        "cut-and-delta-deleted": (
            every(rewrite("state/0/0/3.snapshot", halve), remove("state/0/0/1.delta")),
            (NOT_LOADED, 6),
        ),
    },
    "zip": {
        "clean": (every(), 6),
        "newest-cut": (rewrite("state/0/0/6.zip", halve), (NOT_LOADED, 6)),
        "newest-scrambled": (rewrite("state/0/0/6.zip", scramble), (NOT_LOADED, 6)),
        "wrong-sidecar": (WRONG_SUMS, (NOT_LOADED, 6)),
        "table-deleted": (on_table(SST, remove), (NOT_LOADED, 6)),
        "table-cut": (on_table(SST, lambda path: rewrite(path, halve)), (NOT_LOADED, 6)),
        "table-empty": (on_table(SST, lambda path: rewrite(path, empty)), (NOT_LOADED, 6)),
        "table-scrambled": (on_table(SST, lambda path: rewrite(path, scramble)), (NOT_LOADED, 6)),
        "table-changed-by-hand": (
            on_table(SST, lambda path: rewrite(path, lambda raw: b"~" + raw[1:], sidecars=False)),
            (NOT_LOADED, 6),
        ),
        "tables-deleted": (remove("state/0/0/SSTs"), (NOT_LOADED, 6)),
    },
    "changelog": {
        "newest-cut": (rewrite("state/0/0/6.changelog", halve), (NOT_LOADED, 6)),
        "snapshot-cut": (rewrite("state/0/?/2.zip", halve), 6),
        "snapshot-cut-and-first-deleted": (
            every(rewrite("state/0/0/2.zip", halve), remove("state/0/0/1.changelog")),
            (NOT_LOADED, 6),
        ),
        "table-deleted": (on_table("state/0/0/2.zip", remove), 6),
        "wrong-sidecar-and-first-deleted": (
            every(WRONG_SUMS, remove("state/0/0/1.changelog")),
            (NOT_LOADED, 6),
        ),
    },
    "format-2": {
        "clean": (every(), 6),
        "newest-without-its-last-byte": (
            rewrite("state/0/0/6_*.changelog", drop_last),
            (NOT_LOADED, 6),
        ),
        "newest-checksum-wrong": (
            rewrite("state/0/0/6_*.changelog.crc", FLIPPED),
            (NOT_LOADED, 6),
        ),
        "newest-checksum-cut": (rewrite("state/0/0/6_*.changelog.crc", halve), (NOT_LOADED, 6)),
        "newest-checksum-empty": (rewrite("state/0/0/6_*.changelog.crc", empty), (NOT_LOADED, 6)),
        "newest-checksum-deleted": (remove("state/0/0/6_*.changelog.crc"), 6),
        "superseded-checksum-wrong": (rewrite("state/0/0/1_*.changelog.crc", FLIPPED), 6),
        "snapshot-checksum-wrong": (rewrite("state/0/0/4_*.zip.crc", FLIPPED), 6),
        "table-of-the-snapshot-cut": (
            on_table("state/0/0/4_*.zip", lambda path: rewrite(path, halve)),
            6,
        ),
        "all-snapshots-deleted": (remove("state/0/?/*.zip"), (NOT_LOADED, 6)),
        "only-snapshot-cut": (
            every(remove("state/0/?/2_*.zip"), rewrite("state/0/?/4_*.zip", halve)),
            6,
        ),
    },
    "format-2-zip": {
        "newest-cut": (rewrite("state/0/0/6_*.zip", halve), (NOT_LOADED, 6)),
        "newest-checksum-wrong": (rewrite("state/0/0/6_*.zip.crc", FLIPPED), (NOT_LOADED, 6)),
        "table-deleted": (on_table(SST.replace("6*", "6_*"), remove), (NOT_LOADED, 6)),
    },
}

CASES = [
    pytest.param(*KINDS[kind], *case, id=f"{kind}-{name}")
    for kind, cases in OPENED.items()
    for name, case in cases.items()
]


@pytest.mark.parametrize(("archive", "left", "damage", "truth"), CASES)
def test_what_is_in_state_files_decides(
    *, archive: str, left: Damage, damage: Damage, truth: Truth
) -> None:
    assert truth_of(opened(archive, left, damage)) == truth


# Of RocksDB the tables are listed, so that these are found without opening every file.
ALWAYS: dict[str, tuple[str, Damage, Truth]] = {
    "table-deleted": ("zip", on_table(SST, remove), (NOT_LOADED, 6)),
    "table-cut": ("zip", on_table(SST, lambda path: rewrite(path, halve)), (NOT_LOADED, 6)),
    "table-scrambled": ("zip", on_table(SST, lambda path: rewrite(path, scramble)), 6),
    "delta-cut": ("deltas", rewrite("state/0/0/6.delta", halve), 6),
    "every-snapshot-but-the-first-changelog-cut": (
        "changelog",
        every(rewrite("state/0/0/2.zip", halve), remove("state/0/0/1.changelog")),
        (NOT_LOADED, 6),
    ),
}


@pytest.mark.parametrize(("kind", "damage", "truth"), ALWAYS.values(), ids=ALWAYS)
def test_rocksdb_snapshots_are_always_looked_into(kind: str, damage: Damage, truth: Truth) -> None:
    archive, left = KINDS[kind]
    found = inspected(damaged(archive, left, damage)).overview.next_start
    assert truth_of(found) == truth


def test_a_whole_file_below_a_damaged_one_is_looked_into_as_well() -> None:
    cut = rewrite("state/0/0/[246].zip", halve)
    found = opened("4.2-aggregation-changelog", cut, remove("state/0/0/1.changelog"))
    assert truth_of(found) == (NOT_LOADED, 6)
    assert truth_of(opened("4.2-aggregation-changelog", cut)) == 6


def test_the_damaged_file_is_named_with_the_batch_that_needs_it() -> None:
    found = opened(*KINDS["deltas"], rewrite("state/0/1/4.delta", halve))
    assert isinstance(found, Refuses)
    assert found.because == "state/0/1/4.delta is damaged, and batch 6 needs it"
    assert found.follows_from == ("state/0/1/4.delta",)


def test_a_state_file_that_may_not_be_read_makes_it_unknown() -> None:
    storage = Forbidden(damaged(*KINDS["deltas"]).files, "state/0/0/6.delta")
    found = inspected(storage, state=True).overview.next_start
    assert isinstance(found, Unknown)
    assert found.follows_from == ("state/0/0/6.delta",)
