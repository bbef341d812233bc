"""What state that is missing or cannot be understood does to the next start.

Version 6 is loaded, version 5 when batch 5 is pending. Where Spark was tried with the same
damage (tests/spark), the truth is what it did.
"""

from __future__ import annotations

import pytest

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence import Refuses, Unknown, overview_of
from holdfast.evidence.collect import collect
from holdfast.evidence.next_start import predict_next_start
from tests.unit.evidence.damaged import (
    KINDS,
    Damage,
    Forbidden,
    Truth,
    damaged,
    empty,
    every,
    halve,
    on_line,
    read,
    remove,
    rewrite,
    swap,
    truth_of,
    write,
)

COUNTS, FORMAT_2, TWO = "4.2-aggregation", "4.2-aggregation-format-2", "4.2-two-operators"
SCHEMA, OPERATOR = "state/0/0/_metadata/schema", "state/0/_metadata/metadata"
KEYLESS = b'\0\2v1\0\x1d{"type":"struct","fields":[]}\0\x1d{"type":"struct","fields":[]}'
LIMIT = rewrite(OPERATOR, swap("stateStoreSave", "globalLimit"))
PENDING = remove("commits/5")
PARTITIONS = '"spark.sql.shuffle.partitions":"2"'
FEWER = swap(PARTITIONS, '"spark.sql.shuffle.partitions":"1"')
STRAY = "00000000-0000-4000-8000-000000000000"

NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
OTHER_OPERATOR = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
REPARTITION = "STREAMING_UNFINISHED_REPARTITION_DETECTED"
NOT_EMPTY = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
NO_DELTA = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
NO_FILE = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
NOT_LOADED = "CANNOT_LOAD_STATE_STORE"

LISTED: dict[str, dict[str, tuple[Damage, Truth]]] = {
    "deltas": {
        "clean": (every(), 6),
        "newest-deleted": (remove("state/0/0/6.delta"), (NO_DELTA, 6)),
        "newest-deleted-by-hand": (remove("state/0/0/6.delta", sidecars=False), (NO_DELTA, 6)),
        "newest-of-last-deleted": (remove("state/0/1/6.delta"), (NO_DELTA, 6)),
        "one-between-deleted": (remove("state/0/0/3.delta"), (NO_DELTA, 6)),
        "first-deleted": (remove("state/0/0/1.delta"), (NO_DELTA, 6)),
        "newest-empty": (rewrite("state/0/0/6.delta", empty), (NOT_LOADED, 6)),
        "pending-newer-deleted": (every(PENDING, remove("state/0/?/6.delta")), 5),
        "pending-needed-deleted": (every(PENDING, remove("state/0/0/5.delta")), (NO_DELTA, 5)),
        "newer-than-the-logs": (write("state/0/0/9.delta", b""), 6),
        "newer-snapshot-empty": (write("state/0/0/6.snapshot", b""), 6),
        "first-partition-deleted": (remove("state/0/0"), (NO_DELTA, 6)),
        "last-partition-deleted": (remove("state/0/1"), (NO_DELTA, 6)),
        "more-partitions-pinned": (
            rewrite("offsets/5", swap(PARTITIONS, PARTITIONS.replace("2", "3"))),
            (NO_DELTA, 6),
        ),
        "partitions-changed-pending": (every(PENDING, rewrite("offsets/5", FEWER)), REPARTITION),
        "limit-has-one-partition": (every(LIMIT, remove("state/0/1")), 6),
        "limit-lost-its-newest": (every(LIMIT, remove("state/0/0/6.delta")), (NO_DELTA, 6)),
        "no-keys-one-partition": (every(write(SCHEMA, KEYLESS), remove("state/0/1")), 6),
        "operator-metadata-deleted": (remove(OPERATOR), 6),
        "operator-metadata-empty": (rewrite(OPERATOR, empty), 6),
        "operator-metadata-cut": (rewrite(OPERATOR, halve), 6),
        "operator-metadata-by-hand": (remove(OPERATOR, sidecars=False), "already exists"),
        "schema-deleted": (remove(SCHEMA), 6),
        "schema-deleted-by-hand": (remove(SCHEMA, sidecars=False), "already exists"),
        "only-a-file-in-state": (
            every(remove("state"), write("state/notes.txt", b"")),
            (NO_DELTA, 6),
        ),
        "only-a-file-in-the-operator": (
            every(remove("state"), write("state/0/notes.txt", b"")),
            (NO_DELTA, 6),
        ),
        "operator-metadata-of-a-newer-version": (rewrite(OPERATOR, on_line(0, "v9")), 6),
        "operator-metadata-of-three-partitions": (
            rewrite(OPERATOR, swap('"numPartitions":2', '"numPartitions":3')),
            6,
        ),
        "partitions-not-pinned": (rewrite("offsets/[45]", swap(PARTITIONS + ",", "")), 6),
        "partitions-not-pinned-pending": (
            every(PENDING, rewrite("offsets/5", swap(PARTITIONS + ",", ""))),
            5,
        ),
        "line-2-emptied": (rewrite("offsets/5", on_line(1, "")), "WatermarkTracker"),
        "line-2-emptied-pending": (
            every(PENDING, rewrite("offsets/5", on_line(1, ""))),
            "Batch 5 metadata not found",
        ),
        "logs-deleted": (remove("offsets", "commits"), NOT_EMPTY),
        "logs-and-state-metadata-deleted": (
            remove("offsets", "commits", "metadata", "sources", "state/0/_metadata"),
            NOT_EMPTY,
        ),
    },
    "snapshot": {
        "covered-deltas-deleted": (remove("state/0/?/[1-3].delta"), 6),
        "delta-after-it-deleted": (remove("state/0/0/4.delta"), (NO_DELTA, 6)),
        "deleted": (remove("state/0/?/3.snapshot"), 6),
        "deleted-and-delta": (remove("state/0/0/3.snapshot", "state/0/0/1.delta"), (NO_DELTA, 6)),
        "empty": (rewrite("state/0/?/3.snapshot", empty), 6),
        "empty-and-delta-deleted": (
            every(rewrite("state/0/0/3.snapshot", empty), remove("state/0/0/1.delta")),
            (NOT_LOADED, 6),
        ),
    },
    "zip": {
        "newest-deleted": (remove("state/0/0/6.zip"), (NO_FILE, 6)),
        "older-deleted": (remove("state/0/?/[1-5].zip"), 6),
        "newest-empty": (rewrite("state/0/0/6.zip", empty), (NOT_LOADED, 6)),
        "pending-newer-deleted": (every(PENDING, remove("state/0/?/6.zip")), 5),
        "pending-needed-deleted": (every(PENDING, remove("state/0/0/5.zip")), (NO_FILE, 5)),
        "partition-deleted": (remove("state/0/1"), (NO_FILE, 6)),
    },
    "changelog": {
        "newest-deleted": (remove("state/0/0/6.changelog"), (NO_FILE, 6)),
        "one-between-deleted": (remove("state/0/0/5.changelog"), (NO_FILE, 6)),
        "snapshot-deleted": (remove("state/0/?/2.zip"), 6),
        "snapshot-and-first-deleted": (
            remove("state/0/0/2.zip", "state/0/0/1.changelog"),
            (NO_FILE, 6),
        ),
        "covered-deleted": (remove("state/0/?/[12].changelog"), 6),
        "pending-newer-deleted": (every(PENDING, remove("state/0/?/6.changelog")), 5),
    },
    "format-2": {
        "newest-deleted": (remove("state/0/0/6_*.changelog"), (NO_FILE, 6)),
        "one-between-deleted": (remove("state/0/0/5_*.changelog"), (NO_FILE, 6)),
        "newest-under-another-id": (
            every(
                remove("state/0/0/6_*.changelog"),
                write(f"state/0/0/6_{STRAY}.changelog", b"stray"),
            ),
            (NO_FILE, 6),
        ),
        "stray-of-another-id": (write(f"state/0/0/6_{STRAY}.changelog", b"stray"), 6),
        "ids-gone": (rewrite("commits/5", lambda _: b"v1\n{}"), (NOT_LOADED, 6)),
        "ids-empty": (
            rewrite("commits/5", on_line(1, '{"nextBatchWatermarkMs":0,"stateUniqueIds":{}}')),
            (NOT_LOADED, 6),
        ),
        "ids-in-a-commit-of-v1": (rewrite("commits/5", on_line(0, "v1")), (NOT_LOADED, 6)),
        "pending": (PENDING, 5),
        "pending-ids-gone": (
            every(PENDING, rewrite("commits/4", lambda _: b"v1\n{}")),
            (NOT_LOADED, 5),
        ),
        "two-commits-deleted": (remove("commits/[45]"), (NO_FILE, 5)),
        "newest-offsets-deleted": (remove("offsets/5"), (NO_FILE, 4)),
        "all-commits-deleted": (remove("commits"), (NOT_LOADED, 5)),
        "all-state-deleted": (remove("state"), NO_STATE),
    },
    "format-2-zip": {
        "newest-deleted": (remove("state/0/0/6_*.zip"), (NO_FILE, 6)),
        "ids-gone": (rewrite("commits/5", lambda _: b"v1\n{}"), (NOT_LOADED, 6)),
        "newest-offsets-deleted": (remove("offsets/5"), (NO_FILE, 4)),
    },
    "two": {
        "first-deleted": (remove("state/0"), OTHER_OPERATOR),
        "newest-of-second-deleted": (remove("state/1/0/6.delta"), (NO_DELTA, 6)),
        "partition-of-second-deleted": (remove("state/1/0"), (NO_DELTA, 6)),
        "metadata-of-second-deleted": (remove("state/1/_metadata"), 6),
    },
}

CASES = [
    pytest.param(*KINDS[kind], *case, id=f"{kind}-{name}")
    for kind, cases in LISTED.items()
    for name, case in cases.items()
]


@pytest.mark.parametrize(("archive", "left", "damage", "truth"), CASES)
def test_the_names_of_state_files_decide(
    *, archive: str, left: Damage, damage: Damage, truth: Truth
) -> None:
    assert truth_of(predict_next_start(read(archive, left, damage))) == truth


@pytest.mark.parametrize(
    ("damage", "paths"),
    [
        (remove("state/0/0/6.delta", "state/0/0/6.snapshot"), ("state/0/0/6.delta",)),
        (remove("state/0/1"), ("state/0/1",)),
        (remove(SCHEMA, sidecars=False), ("state/0/0/_metadata/.schema.crc",)),
        (rewrite(SCHEMA, empty), (SCHEMA,)),
    ],
)
def test_what_stops_the_start_is_named(damage: Damage, paths: tuple[str, ...]) -> None:
    found = predict_next_start(read(COUNTS, damage))
    assert found.follows_from == paths
    assert isinstance(found, Refuses)
    assert paths[0] in found.because


@pytest.mark.parametrize(
    ("spark", "message"),
    [((3, 5), "Error reading delta file state/0/0/6.delta"), ((4, 1), f"[{NO_DELTA}]")],
)
def test_a_missing_delta_is_said_in_the_words_of_the_version(
    spark: tuple[int, int], message: str
) -> None:
    checkpoint = read(COUNTS, remove("state/0/0/6.delta", "state/0/0/6.snapshot"))
    found = predict_next_start(checkpoint, spark=spark)
    assert isinstance(found, Refuses)
    assert found.in_batch == 6
    assert found.error in message


def test_the_first_batch_needs_no_state() -> None:
    damage = every(remove("commits", "offsets/[1-5]"), remove("state/0/0"))
    assert truth_of(predict_next_start(read(COUNTS, damage))) == 0


def test_a_schema_that_may_not_be_read_makes_it_unknown() -> None:
    found = predict_next_start(read_checkpoint(Forbidden(damaged(COUNTS).files, SCHEMA)))
    assert isinstance(found, Unknown)
    assert found.follows_from == (SCHEMA,)


@pytest.mark.parametrize(
    ("damage", "version"),
    [
        (every(), 6),
        (PENDING, 5),
        (remove("offsets/4"), 6),
        (every(PENDING, remove("offsets/4")), 5),
        (remove("offsets", "commits"), 0),
    ],
)
def test_state_is_held_against_the_version_that_would_be_loaded(
    damage: Damage, version: int
) -> None:
    assert [each.version for each in overview_of(collect(damaged(COUNTS, damage))).state] == [
        version
    ]


def test_a_query_goes_back_only_where_every_partition_has_its_state() -> None:
    assert overview_of(collect(damaged(COUNTS))).progress.rewind == tuple(range(6))
    assert overview_of(collect(damaged(COUNTS, remove("state/0/1")))).progress.rewind == ()
    fewer = remove("state/0/1/[1-4].delta", "state/0/1/3.snapshot")
    assert overview_of(collect(damaged(COUNTS, fewer))).progress.rewind == (5,)


@pytest.mark.parametrize(
    ("archive", "versions"),
    [
        ("3.5-aggregation", ((3, 5),)),
        ("4.0-aggregation", ((4, 0), (4, 1))),
        ("4.1-aggregation", ((4, 1),)),
        ("4.1-aggregation-format-2", ((4, 0), (4, 1))),
        ("4.2-aggregation", ((4, 2),)),
    ],
)
def test_checksums_beside_state_tell_version_4_1(
    archive: str, versions: tuple[tuple[int, int], ...]
) -> None:
    assert overview_of(collect(damaged(archive))).writers.versions == versions
