"""Every check is shown able to fail: histories with one planted fault each."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills import checks
from holdfast.drills.checks import JUDGE, KEPT, READER, check_history, count_rows
from holdfast.drills.history import FILE, Ended, History, Looked, Planned, Reached, Row, Started
from holdfast.drills.verdict import DrillVerdict, worst

CONTENTS: list[list[Row]] = [[], [(1, 10), (2, 10)], [(1, 20), (2, 10), (3, 20)]]
"""A key and its newest value, after each part of the source."""
STATE: list[Row] = [("0/default", [1], [20]), ("0/default", [2], [10])]


class Made:
    """A history that is made up."""

    def __init__(self, directory: Path) -> None:
        self.history = History(directory)
        self.runs = 0

    def plan(self, *, key: int | None = 0) -> Made:
        contents = [self.history.keep(rows) for rows in CONTENTS]
        planned = Planned(at=0, sink="table", contents=contents, key=key, sequence=1)
        self.history.append(planned)
        return self

    def run(self, point: str | None = None, **end: object) -> Made:
        self.runs += 1
        self.history.append(Started(at=0, run=self.runs, point=point))
        given = {"fired": point, "is_killed": point is not None, "is_well": point is None, **end}
        ended = Ended(at=1, run=self.runs, how="some way", cpu_seconds=1, **given)  # type: ignore[arg-type]
        self.history.append(ended)
        return self

    def look(
        self, rows: list[Row], parts: int | None, *, by: str = JUDGE, sink: str = "table"
    ) -> Made:
        content = self.history.keep(rows)
        looked = Looked(at=1, by=by, run=self.runs, sink=sink, parts=parts, content=content)
        self.history.append(looked)
        return self

    def plan_state(self, *left_out: str) -> Made:
        contents = [self.history.keep(rows) for rows in ([], STATE)]
        planned = Planned(at=0, sink=KEPT, contents=contents, left_out=list(left_out))
        self.history.append(planned)
        return self

    def bad(self) -> dict[str, DrillVerdict]:
        """Return the checks that do not pass."""
        found = check_history(self.history)
        assert [each.check for each in found] == list(checks.CHECKS)
        return {each.check: each.verdict for each in found if each.verdict.is_bad}


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path).plan()


def test_a_life_without_a_fault_passes(made: Made) -> None:
    made.run("at:S6:1").look(CONTENTS[1], 1).look(CONTENTS[1], 1, by=READER)
    assert made.run().look(CONTENTS[2], 2).bad() == {}
    assert count_rows(made.history) == (0, 0, 0)


def test_rows_are_compared_in_any_order(made: Made) -> None:
    assert made.run().look(CONTENTS[2][::-1], 2).bad() == {}


def test_a_kill_that_did_not_fire_shows_nothing(made: Made) -> None:
    made.run("at:S6:1", fired=None, is_killed=False).look(CONTENTS[1], 1)
    assert made.run().look(CONTENTS[2], 2).bad() == {"fired": DrillVerdict.UNKNOWN}


def test_a_kill_at_another_point_shows_nothing(made: Made) -> None:
    made.run("at:S6:1", fired="at:S5:1")
    assert made.run().look(CONTENTS[2], 2).bad() == {"fired": DrillVerdict.UNKNOWN}


def test_a_driver_ended_by_the_clock_was_not_killed(made: Made) -> None:
    made.run("at:S6:1", is_killed=False)
    assert made.run().look(CONTENTS[2], 2).bad() == {"fired": DrillVerdict.UNKNOWN}


def test_a_run_without_an_end_shows_nothing(made: Made) -> None:
    made.run().look(CONTENTS[2], 2)
    made.history.append(Started(at=2, run=2))
    bad = made.bad()
    assert bad["fired"] == DrillVerdict.UNKNOWN
    assert bad["starts-again"] == DrillVerdict.UNKNOWN


def test_a_stream_that_does_not_start_again_is_stuck(made: Made) -> None:
    made.run("at:S6:1").look(CONTENTS[1], 1).run(is_well=False, error="no").look(CONTENTS[1], 1)
    assert made.bad() == {"starts-again": DrillVerdict.FAIL, "goes-on": DrillVerdict.FAIL}


def test_a_stream_that_never_ran_is_not_known_to_be_stuck(made: Made) -> None:
    """Without Delta's jars, say."""
    made.run("at:S6:1", fired=None, is_killed=False).run(is_well=False).look([], 0)
    assert made.bad()["starts-again"] == DrillVerdict.UNKNOWN


def test_a_lost_row_is_found(made: Made) -> None:
    bad = made.run().look(CONTENTS[2][1:], 2).bad()
    assert bad == {"nothing-lost": DrillVerdict.FAIL, "complete-batches": DrillVerdict.FAIL}
    assert count_rows(made.history) == (1, 0, 0)


def test_a_duplicated_row_is_found(made: Made) -> None:
    """Which sets and counts of keys do not show."""
    bad = made.run().look([*CONTENTS[2], CONTENTS[2][0]], 2).bad()
    assert bad == {"nothing-duplicated": DrillVerdict.FAIL, "complete-batches": DrillVerdict.FAIL}
    assert count_rows(made.history) == (0, 1, 0)


def test_one_lost_and_one_duplicated_are_both_found(made: Made) -> None:
    """Which the number of rows does not show."""
    bad = made.run().look([*CONTENTS[2][1:], CONTENTS[2][1]], 2).bad()
    assert {"nothing-lost", "nothing-duplicated"} <= bad.keys()


def test_a_row_that_was_never_sent_is_found(made: Made) -> None:
    bad = made.run().look([*CONTENTS[2], (9, 9)], 2).bad()
    assert bad == {"nothing-unexpected": DrillVerdict.FAIL, "complete-batches": DrillVerdict.FAIL}


def test_what_is_wrong_after_a_death_and_right_later_is_found(made: Made) -> None:
    made.run("at:S6:1").look(CONTENTS[1][:1], 1)
    bad = made.run().look(CONTENTS[2], 2).bad()
    assert bad == {"nothing-lost": DrillVerdict.FAIL, "complete-batches": DrillVerdict.FAIL}


def test_a_ledger_that_tells_of_too_little_is_found(made: Made) -> None:
    bad = made.run().look(CONTENTS[1], 1).bad()
    assert bad == {"goes-on": DrillVerdict.FAIL}


def test_a_part_of_a_batch_that_a_reader_sees_is_found(made: Made) -> None:
    made.run("at:S6:1").look([(1, 20), (2, 10)], 1, by=READER).look(CONTENTS[1], 1)
    bad = made.run().look(CONTENTS[2], 2).bad()
    assert bad["complete-batches"] == DrillVerdict.FAIL


def test_a_key_that_goes_back_is_found(made: Made) -> None:
    made.run("at:S6:1").look(CONTENTS[2], 2).run("at:S6:1").look(CONTENTS[1], 1)
    assert made.run().look(CONTENTS[2], 2).bad() == {"in-order": DrillVerdict.FAIL}


@pytest.mark.parametrize(
    "kept", [STATE[1:], [*STATE, STATE[0]], [*STATE, ("0/default", [3], [1])], []]
)
def test_state_that_diverged_is_found(made: Made, kept: list[Row]) -> None:
    """Which the tables do not show until it is used."""
    made.plan_state().run("at:S6:1").look(CONTENTS[1], 1).run().look(CONTENTS[2], 2)
    assert made.look(kept, None, sink=KEPT).bad() == {"same-state": DrillVerdict.FAIL}
    assert count_rows(made.history) == (0, 0, 0)


def test_the_same_state_passes(made: Made) -> None:
    made.plan_state().run().look(CONTENTS[2], 2)
    assert made.look(STATE[::-1], None, sink=KEPT).bad() == {}


def test_stores_that_differ_every_time_are_left_out_and_the_others_compared(made: Made) -> None:
    made.plan_state("0/timers").run().look(CONTENTS[2], 2)
    made.look([*STATE, ("0/timers", [1], [5])], None, sink=KEPT)
    *_, same_state = check_history(made.history)
    assert (same_state.check, same_state.verdict) == ("same-state", DrillVerdict.PASS)
    assert same_state.told.startswith("2 rows of state are the same; not compared, because ")
    assert same_state.told.endswith(": 0/timers")
    made.look([*STATE[1:], ("0/timers", [1], [5])], None, sink=KEPT)
    assert made.bad() == {"same-state": DrillVerdict.FAIL}


def test_state_of_which_everything_was_left_out_is_not_said_to_be_right(made: Made) -> None:
    made.plan_state("0/default").run().look(CONTENTS[2], 2).look(STATE[1:], None, sink=KEPT)
    assert check_history(made.history)[-1].verdict == DrillVerdict.NOT_CHECKED


def test_state_that_nobody_looked_at_is_not_known_to_be_the_same(made: Made) -> None:
    made.plan_state().run().look(CONTENTS[2], 2)
    assert made.bad() == {"same-state": DrillVerdict.UNKNOWN}


def test_state_that_was_not_compared_is_said_to_be_so(made: Made) -> None:
    found = check_history(made.run().look(CONTENTS[2], 2).history)
    assert found[-1].verdict == DrillVerdict.NOT_CHECKED


def test_a_sink_without_a_ledger_is_judged_in_the_end_only(made: Made) -> None:
    made.run("at:S6:1").look([], None)
    assert made.run().look(CONTENTS[2], None).bad() == {}
    assert made.run().look(CONTENTS[1], None).bad()["nothing-lost"] == DrillVerdict.FAIL


def test_a_sink_that_nobody_looked_at_is_not_known_to_be_whole(made: Made) -> None:
    bad = made.run().bad()
    for check in ("goes-on", "nothing-lost", "nothing-duplicated", "nothing-unexpected"):
        assert bad[check] == DrillVerdict.UNKNOWN


def test_what_there_was_nothing_to_compare_for_is_not_said_to_pass(tmp_path: Path) -> None:
    """A sink without a ledger and without a key, of a stream without state."""
    made = Made(tmp_path).plan(key=None)
    made.history.append(Planned(at=0, sink=KEPT, contents=[made.history.keep([])] * 2))
    made.run("at:S6:1").look([], None).run().look(CONTENTS[2], None).look([], None, sink=KEPT)
    found = {each.check: each.verdict for each in check_history(made.history)}
    unchecked = [check for check, verdict in found.items() if verdict == DrillVerdict.NOT_CHECKED]
    assert unchecked == ["goes-on", "complete-batches", "in-order", "same-state"]
    assert worst(found.values()) == DrillVerdict.PASS


@pytest.mark.parametrize(
    ("points", "verdict"),
    [
        (["batch=0", "S1", "S7", "batch=1"], DrillVerdict.UNKNOWN),
        (["entry=checkpoint/offsets/0", "entry=checkpoint/commits/0"], DrillVerdict.UNKNOWN),
        (["batch=0", "S1"], DrillVerdict.FAIL),
        ([], DrillVerdict.FAIL),
    ],
)
def test_a_restart_that_reaches_its_time_limit_is_stuck_unless_it_ran_batches(
    made: Made, points: list[str], verdict: DrillVerdict
) -> None:
    made.run("at:S6:1").look(CONTENTS[1], 1).run(is_well=False, timed_out=True)
    for point in points:
        made.history.append(Reached(at=0.5, run=2, point=point))
    assert made.look(CONTENTS[2], 2).bad() == {"starts-again": verdict}


def test_a_check_that_crashes_shows_nothing(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(checks.CHECKS, "in-order", lambda _: 1 / 0)
    assert made.run().look(CONTENTS[2], 2).bad() == {"in-order": DrillVerdict.UNKNOWN}


def test_the_worst_verdict_counts() -> None:
    assert worst([DrillVerdict.PASS, DrillVerdict.FAIL, DrillVerdict.UNKNOWN]) == DrillVerdict.FAIL
    assert worst([DrillVerdict.PASS, DrillVerdict.UNKNOWN]) == DrillVerdict.UNKNOWN
    assert worst([]) == DrillVerdict.UNKNOWN


def test_a_line_that_was_cut_did_not_happen(made: Made, tmp_path: Path) -> None:
    made.run()
    whole = made.history.events()
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"event":"ended","at":1')
    assert made.history.events() == whole
