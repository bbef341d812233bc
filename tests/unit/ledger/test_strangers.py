"""The table or the record is changed by others while drivers run; every closing is needed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.unit.ledger.closings import ALL, Closings
from tests.unit.ledger.explore import explore
from tests.unit.ledger.model import Budget, World, begin
from tests.unit.ledger.test_model import table

CALM = Budget(starts=2, crashes=1, lost_answers=0, resets=0, rewinds=0, tampering=0)
TABLE = CALM._replace(changes=1)
RECORD = CALM._replace(forgeries=1)

SEARCHES: dict[str, tuple[World, int]] = {
    "two changes of a PostgreSQL table": (
        begin(CALM._replace(changes=2), has_quiet_batch=True),
        150_000,
    ),
    "two changes of a Delta table, and a lost answer": (
        begin(CALM._replace(changes=2, lost_answers=1), is_delta=True),
        100_000,
    ),
    "a truncated table, and a reset": (
        begin(TABLE._replace(of_kind="truncated", resets=1), has_quiet_batch=True),
        30_000,
    ),
    "a truncated table, and a forged record": (
        begin(TABLE._replace(of_kind="truncated", forgeries=1), epochs=1),
        30_000,
    ),
    "a forged record before the first batch": (begin(RECORD, epochs=1, has_row=False), 5_000),
    "another label for the sink": (begin(CALM._replace(relabels=1)), 1_000),
}


@pytest.mark.parametrize(("world", "fewest"), SEARCHES.values(), ids=list(SEARCHES))
def test_no_change_from_outside_goes_unnoticed_or_locks_a_stream_out(
    world: World, fewest: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explore(world, table())
    with capsys.disabled():
        print(f"\n{found.states:,} states")
    assert found.wrong is None, found.wrong
    assert found.states > fewest


def only(change: str, *, is_delta: bool = False, has_quiet_batch: bool = False) -> World:
    """Return a stream whose table is changed once, in one way."""
    budget = TABLE._replace(of_kind=change)
    return begin(budget, is_delta=is_delta, has_quiet_batch=has_quiet_batch)


HOLES: dict[str, tuple[str, World, tuple[str, ...]]] = {
    "truncated between two batches": (
        "looks_at_target",
        only("truncated"),
        ("batch 1 makes the output ('u1',)", "the table is truncated"),
    ),
    "replaced between two batches": (
        "looks_at_target",
        only("renamed"),
        ("writes batch 0 into another table", "another has its name"),
    ),
    "truncated between two commits to Delta": (
        "looks_at_target",
        only("truncated", is_delta=True),
        ("batch 1 goes into ()", "the table is truncated"),
    ),
    "restored between judging and fencing": (
        "pins_only_harmless",
        only("restored"),
        ("a start takes ('u0',) for ('u0', 'u1')", "the table is restored alone"),
    ),
    "truncated after a batch without rows": (
        "counts_ever_brought",
        only("truncated", has_quiet_batch=True),
        ("a start takes () for ('u0', 'u1')", "offsets/1 ()", "the table is truncated"),
    ),
    "a column of another type": (
        "compares_shape",
        only("type"),
        ("values of another type", "given another type"),
    ),
    "a Delta table that is dropped": (
        "never_creates",
        only("dropped", is_delta=True),
        ("writes batch 0 into another table", "the table is dropped"),
    ),
    "a Delta table that is truncated during a batch": (
        "dates_look",
        only("truncated", is_delta=True),
        ("a start takes () for ('u0',)", "the table is truncated"),
    ),
    "a forged lease": (
        "caps_epoch",
        begin(RECORD, epochs=1),
        ("stuck", "a lease far above is forged"),
    ),
    "a forged generation": (
        "confines_generation",
        begin(RECORD, epochs=1, has_row=False),
        ("stuck", "forged on the checkpoint of another stream"),
    ),
    "one table under two labels": (
        "finds_by_place",
        begin(CALM._replace(relabels=1)),
        ("batch 0 makes the output ('u0', 'u0')", "given another label"),
    ),
}


@pytest.mark.parametrize(("closing", "world", "what"), HOLES.values(), ids=list(HOLES))
def test_without_a_closing_the_search_finds_its_hole(
    closing: str, world: World, what: tuple[str, ...]
) -> None:
    assert explore(world, table()).wrong is None
    found = explore(world, table(), closings=replace(ALL, **{closing: False}))
    assert found.wrong is not None
    for words in what:
        assert words in found.wrong


def test_every_closing_has_its_hole() -> None:
    assert {closing for closing, _, _ in HOLES.values()} == {each.name for each in fields(Closings)}
