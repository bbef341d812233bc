"""What the logs of sources do to the next start, and sources whose offset was taken away.

Where Spark 4.2 was tried with the same damage (tests/spark), the truth is what it did.
"""

from __future__ import annotations

import pytest

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence import Reread, Resumes, RunsAgain, Unknown
from holdfast.evidence.next_start import predict_next_start
from tests.unit.evidence.damaged import (
    Damage,
    Edit,
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
    truth_of,
)

COUNTS = "4.2-aggregation"  # batches 0 to 5; its source's log has 0 to 4
FILES = "4.2-file-source"  # batches 0 to 11; 9 is compact
PENDING = remove("commits/5")
GONE = "doesn't exist"
CUT = "Unexpected end-of-input"
INCOMPLETE = "Incomplete log file"

LOGS: dict[str, tuple[str, Damage, Truth]] = {
    "newest-deleted": (COUNTS, remove("sources/0/4"), GONE),
    "newest-deleted-pending": (COUNTS, every(PENDING, remove("sources/0/4")), GONE),
    "all-deleted": (COUNTS, remove("sources"), GONE),
    "one-between-deleted": (COUNTS, remove("sources/0/2"), GONE),
    "first-deleted": (COUNTS, remove("sources/0/0"), GONE),
    "newest-empty": (COUNTS, rewrite("sources/0/4", empty), INCOMPLETE),
    "newest-cut": (COUNTS, rewrite("sources/0/4", halve), CUT),
    "older-cut": (COUNTS, rewrite("sources/0/1", halve), CUT),
    "rolled-back": (COUNTS, remove("offsets/[45]", "commits/[45]", "sources/0/4"), 4),
    "below-the-compact-deleted": (FILES, remove("sources/0/[0-8]"), 12),
    "below-the-compact-cut": (FILES, rewrite("sources/0/3", halve), 12),
    "above-the-compact-deleted": (FILES, remove("sources/0/10"), GONE),
    "above-the-compact-cut": (FILES, rewrite("sources/0/10", halve), CUT),
    "compact-deleted": (FILES, remove("sources/0/9.compact"), GONE),
    "of-one-of-two-deleted": ("4.2-join", remove("sources/1/2"), GONE),
    "of-one-of-two-cut": ("4.2-join", rewrite("sources/1/2", halve), CUT),
    "no-log-of-files": ("4.2-kafka", remove("sources"), 7),
    "clean": (COUNTS, PENDING, 5),
}


@pytest.mark.parametrize(("archive", "damage", "truth"), LOGS.values(), ids=LOGS)
def test_the_log_of_a_source_decides(archive: str, damage: Damage, truth: Truth) -> None:
    assert truth_of(predict_next_start(read(archive, damage))) == truth


@pytest.mark.parametrize(
    ("damage", "path"),
    [
        (remove("sources/0/4"), "sources/0/4"),
        (remove("sources/0/2"), "sources/0/2"),
        (rewrite("sources/0/1", halve), "sources/0/1"),
    ],
)
def test_the_file_that_stops_the_start_is_named(damage: Damage, path: str) -> None:
    predicted = predict_next_start(read(COUNTS, damage))
    assert predicted.follows_from == (path,)


def test_a_source_log_that_may_not_be_read_makes_it_unknown() -> None:
    store = Forbidden(damaged(COUNTS).files, "sources/0/4")
    predicted = predict_next_start(read_checkpoint(store))
    assert isinstance(predicted, Unknown)
    assert predicted.follows_from == ("sources/0/4",)


DASH: Edit = on_line(2, "-")
REREADS: dict[str, tuple[Damage, tuple[Reread, ...]]] = {
    "newest-committed": (rewrite("offsets/5", DASH), (Reread(source="0", after=4),)),  # type: ignore[arg-type]
    "newest-two-committed": (rewrite("offsets/[45]", DASH), (Reread(source="0", after=None),)),
    "newest-pending": (
        every(PENDING, rewrite("offsets/5", DASH)),
        (Reread(source="0", after=None),),
    ),
    "before-pending": (
        every(PENDING, rewrite("offsets/4", DASH)),
        (Reread(source="0", after=None),),
    ),
    "before-committed": (rewrite("offsets/4", DASH), ()),
    "all": (rewrite("offsets/?", DASH), ()),
    "none": (PENDING, ()),
}


@pytest.mark.parametrize(("damage", "rereads"), REREADS.values(), ids=REREADS)
def test_a_source_without_its_offset_is_read_again(
    damage: Damage, rereads: tuple[Reread, ...]
) -> None:
    predicted = predict_next_start(read(COUNTS, damage))
    assert isinstance(predicted, Resumes | RunsAgain)
    assert predicted.rereads == rereads


def test_only_the_source_that_lost_its_offset_is_read_again() -> None:
    predicted = predict_next_start(read("4.2-join", rewrite("offsets/3", on_line(3, "-"))))
    assert isinstance(predicted, Resumes)
    assert predicted.rereads == (Reread(source="1", after=2),)  # type: ignore[arg-type]
