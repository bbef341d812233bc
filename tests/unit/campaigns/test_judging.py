"""Sinks judged by the checks of the drills, without a driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from campaigns.judging import OF_ROWS, assert_passed, end_session, judge, recorded
from campaigns.outcome import differences_of, looks_of
from holdfast.drills.drill import Answer, Seen
from holdfast.drills.history import Row

ROWS: list[Row] = [(1,), (2,)]


@dataclass
class Fake:
    """One table of two batches with a row each."""

    rows: list[Row]
    parts: int | None

    @property
    def answers(self) -> Sequence[Answer]:
        return [Answer(sink="table", after=[ROWS[:each] for each in range(3)])]

    def look(self) -> Iterator[Seen]:
        yield Seen(sink="table", parts=self.parts, rows=self.rows)


def test_whole_batches_pass_in_between_and_not_at_the_end() -> None:
    between = Fake(rows=ROWS[:1], parts=1)
    judge(between, checks=OF_ROWS)
    with pytest.raises(
        AssertionError, match="FAIL goes-on: the ledger of table covers 1 of 2 parts"
    ):
        judge(between)
    judge(Fake(rows=ROWS, parts=2))


@pytest.mark.parametrize(
    ("rows", "check"),
    [
        (ROWS[:1], "nothing-lost"),
        ([*ROWS, (2,)], "nothing-duplicated"),
        ([*ROWS, (3,)], "nothing-unexpected"),
    ],
)
def test_each_fault_is_named(rows: list[Row], check: str) -> None:
    with pytest.raises(AssertionError, match=f"FAIL {check}: 1 "):
        judge(Fake(rows=rows, parts=2))


def test_queries_of_this_process_are_judged_as_drivers_are() -> None:
    sinks = Fake(rows=ROWS[:1], parts=1)
    with recorded(sinks) as recording:
        recording.start()
        recording.write(sinks.look())
        end_session(recording, "the server is gone")
        with pytest.raises(AssertionError, match="the stream never ran"):
            assert_passed(recording.check())
        sinks.rows, sinks.parts = ROWS, 2
        recording.start()
        end_session(recording)
        assert_passed(recording.check())
        assert looks_of(recording.history) == 1
        assert differences_of(recording.history)["table"].exact
