"""The protocol holds in every interleaving; and each line of the table is needed for that."""

from __future__ import annotations

from functools import cache

import pytest

from holdfast.ledger import Apply, Attempt, Decision, LedgerRow, Skip, decide
from holdfast.ledger.decide import LINES, Line
from tests.unit.ledger.explore import explore
from tests.unit.ledger.model import (
    Budget,
    Decide,
    Driver,
    Row,
    as_attempt,
    as_ledger_row,
    begin,
)

FAULTS = Budget(starts=3, crashes=2, lost_answers=1, resets=1, rewinds=0, tampering=0)
"""Two drivers at a time, each of which can pause between any two steps."""


HANDS = {
    "takeover": Budget(starts=2, crashes=1, lost_answers=1, resets=0, rewinds=0, tampering=0),
    "rewind": Budget(starts=3, crashes=2, lost_answers=0, resets=0, rewinds=1, tampering=0),
    "tampering": Budget(starts=2, crashes=1, lost_answers=0, resets=0, rewinds=0, tampering=1),
}
"""Smaller searches, for what needs somebody's hand."""


def table(lines: tuple[Line, ...] = LINES, *, without_row: Decision | None = None) -> Decide:
    """Return the shipped table as the model asks it, each question once."""

    @cache
    def ask(row: Row | None, driver: Driver) -> Decision:
        if row is None and without_row is not None:
            return without_row
        ledger: LedgerRow | None = None if row is None else as_ledger_row(row)
        return decide(ledger, as_attempt(driver), lines=lines)

    return ask


def test_no_interleaving_loses_or_doubles_a_batch(capsys: pytest.CaptureFixture[str]) -> None:
    found = explore(begin(FAULTS), table())
    with capsys.disabled():
        print(f"\n{found.states:,} states")
    assert found.wrong is None, found.wrong
    assert found.states > 100_000


@pytest.mark.parametrize("budget", HANDS.values(), ids=list(HANDS))
def test_what_people_do_by_hand_is_refused_or_harmless(budget: Budget) -> None:
    found = explore(begin(budget), table())
    assert found.wrong is None, found.wrong


CAUGHT = {
    "generation": (0, "rewind", "writes for generation 1"),
    "epoch": (1, "takeover", "after it was fenced"),
    "binding": (2, "tampering", "foreign"),
    "same batch": (3, "takeover", "stuck"),
    "older batch": (4, "tampering", "E1"),
    "gap": (5, "tampering", "E2"),
    "chain": (6, "tampering", "u1"),
}


@pytest.mark.parametrize(("place", "hands", "what"), CAUGHT.values(), ids=list(CAUGHT))
def test_without_a_line_something_goes_wrong(place: int, hands: str, what: str) -> None:
    found = explore(begin(HANDS[hands]), table((*LINES[:place], *LINES[place + 1 :])))
    assert found.wrong is not None
    assert what in found.wrong


def test_a_row_that_is_missing_must_not_be_made_up() -> None:
    found = explore(begin(HANDS["tampering"]), table(without_row=Apply()))
    assert found.wrong is not None
    assert "the ledger row is deleted" in found.wrong


def test_the_same_number_with_other_content_must_not_be_skipped() -> None:
    def skips(row: LedgerRow, attempt: Attempt) -> Decision | None:
        return Skip() if row.last_batch == attempt.batch_id else None

    found = explore(begin(HANDS["tampering"]), table((*LINES[:3], skips, *LINES[4:])))
    assert found.wrong is not None
    assert "WRONG" in found.wrong
