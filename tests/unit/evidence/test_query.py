"""What is known of a query, held against the checkpoint it will be started on.

Where Spark 4.2 was tried with the same change (tests/spark), the truth is what it did.
"""

from __future__ import annotations

import pytest

from holdfast.evidence import Query, Refuses
from holdfast.evidence.next_start import predict_next_start
from tests.unit.evidence.damaged import (
    Damage,
    Truth,
    copy,
    empty,
    every,
    read,
    remove,
    rewrite,
    swap,
    truth_of,
    write,
)

COUNTS, TWO = "4.2-aggregation", "4.2-two-operators"
OPERATOR = "state/0/_metadata/metadata"
NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
OTHER_OPERATOR = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
NOT_LOADED = ("CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS", 6)


def sources(there: int, now: int) -> str:
    return (
        f"There are [{there}] sources in the checkpoint offsets and now there are [{now}] sources"
    )


def query(*operators: str, sources: int = 1) -> Query:
    return Query(sources=sources, operators=operators)


SAME = query("stateStoreSave")
BOTH = query("stateStoreSave", "stateStoreSave")
BELOW = query("dedupe", "stateStoreSave")
NOTHING = every()
ALL_STATE = remove("state")

CASES: dict[str, tuple[str, Damage, Query, Truth]] = {
    "same": (COUNTS, NOTHING, SAME, 6),
    "same-pending": (COUNTS, remove("commits/5"), SAME, 5),
    "one-source-more": (COUNTS, NOTHING, query("stateStoreSave", sources=2), sources(1, 2)),
    "one-source-less": ("4.2-two-sources", NOTHING, query(sources=1), sources(2, 1)),
    "as-many-sources": ("4.2-two-sources", NOTHING, query(sources=2), 3),
    "named-sources": ("4.2-two-sources-offsets-v2", NOTHING, query(sources=1), 3),
    "another-operator": (COUNTS, NOTHING, query("dedupe"), OTHER_OPERATOR),
    "operator-removed": (COUNTS, NOTHING, query(), OTHER_OPERATOR),
    "operator-added-below": (COUNTS, NOTHING, BELOW, OTHER_OPERATOR),
    "operator-added-above": (COUNTS, NOTHING, BOTH, OTHER_OPERATOR),
    "name-in-metadata-changed": (
        COUNTS,
        rewrite(OPERATOR, swap("stateStoreSave", "dedupe")),
        SAME,
        OTHER_OPERATOR,
    ),
    "metadata-deleted": (COUNTS, remove(OPERATOR), SAME, 6),
    "metadata-deleted-and-another-operator": (COUNTS, remove(OPERATOR), query("dedupe"), 6),
    "metadata-empty-and-another-operator": (COUNTS, rewrite(OPERATOR, empty), query("dedupe"), 6),
    "metadata-deleted-and-operator-removed": (COUNTS, remove(OPERATOR), query(), 6),
    "metadata-deleted-and-operator-below": (COUNTS, remove(OPERATOR), BELOW, NOT_LOADED),
    "all-state-deleted": (COUNTS, ALL_STATE, SAME, NO_STATE),
    "all-state-deleted-pending": (COUNTS, every(ALL_STATE, remove("commits/5")), SAME, NO_STATE),
    "all-state-deleted-and-no-operator": (COUNTS, ALL_STATE, query(), 6),
    "first-batch-pending-without-state": (
        COUNTS,
        every(ALL_STATE, remove("commits"), remove("offsets/[1-5]")),
        SAME,
        0,
    ),
    "first-batch-committed-without-state": (
        COUNTS,
        every(ALL_STATE, remove("commits/[1-5]", "offsets/[1-5]")),
        SAME,
        NO_STATE,
    ),
    "second-batch-pending-without-commits-and-state": (
        COUNTS,
        every(ALL_STATE, remove("commits", "offsets/[2-5]")),
        SAME,
        NO_STATE,
    ),
    "one-line-end-more": (COUNTS, rewrite("offsets/5", lambda raw: raw + b"\n"), SAME, 6),
    "foreign-operator": (COUNTS, write("state/1/0/6.delta", b""), SAME, 6),
    "foreign-operator-with-metadata": (COUNTS, copy("state/0", "state/1"), SAME, 6),
    "two": (TWO, NOTHING, BOTH, 6),
    "two-first-deleted": (TWO, remove("state/0"), BOTH, OTHER_OPERATOR),
    "two-second-deleted": (TWO, remove("state/1"), BOTH, OTHER_OPERATOR),
    "two-all-deleted": (TWO, ALL_STATE, BOTH, NO_STATE),
    "two-metadata-of-first-deleted": (TWO, remove("state/0/_metadata"), BOTH, 6),
    "two-metadata-of-second-deleted": (TWO, remove("state/1/_metadata"), BOTH, 6),
    "two-metadata-of-second-empty": (
        TWO,
        rewrite("state/1/_metadata/metadata", empty),
        BOTH,
        6,
    ),
    "two-both-metadata-deleted": (TWO, remove("state/?/_metadata"), BOTH, 6),
    "two-only-one-left-in-the-query": (TWO, NOTHING, SAME, OTHER_OPERATOR),
    "no-state-of-its-own": ("4.2-file-source", NOTHING, query(), 12),
}


@pytest.mark.parametrize(("archive", "damage", "known", "truth"), CASES.values(), ids=CASES)
def test_the_query_is_held_against_the_checkpoint(
    *, archive: str, damage: Damage, known: Query, truth: Truth
) -> None:
    assert truth_of(predict_next_start(read(archive, damage), query=known)) == truth


def test_a_line_more_in_the_newest_entry_is_a_source_more() -> None:
    checkpoint = read(COUNTS, rewrite("offsets/5", lambda raw: raw + b"\n\n"))
    found = predict_next_start(checkpoint, query=SAME)
    assert isinstance(found, Refuses)
    assert found.error in sources(2, 1)
    assert "[2] sources" in found.error


def test_state_of_an_operator_that_the_query_does_not_have_is_not_needed() -> None:
    damage = every(remove("state/?/_metadata"), remove("state/1/0/6.delta"))
    checkpoint = read(TWO, damage)
    assert truth_of(predict_next_start(checkpoint, query=SAME)) == 6
    assert isinstance(predict_next_start(checkpoint, query=BOTH), Refuses)


@pytest.mark.parametrize(
    ("spark", "truth"),
    [((3, 5), 6), ((4, 0), OTHER_OPERATOR), ((4, 1), OTHER_OPERATOR), ((4, 2), OTHER_OPERATOR)],
)
def test_version_3_5_compares_no_operators(spark: tuple[int, int], truth: Truth) -> None:
    found = predict_next_start(read(COUNTS), spark=spark, query=query("dedupe"))
    assert truth_of(found) == truth


def test_the_refusal_names_both_sides_and_the_file() -> None:
    found = predict_next_start(read(COUNTS), query=query("dedupe"))
    assert isinstance(found, Refuses)
    assert found.because == "state/ belongs to stateStoreSave, but the query has dedupe"
    assert found.follows_from == (OPERATOR,)
