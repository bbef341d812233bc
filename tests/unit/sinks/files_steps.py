"""The files sink on any store, killed and paused before every change that it makes.

Subclass, and give lakes of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count

import pytest

from holdfast.errors import HoldfastError
from holdfast.ledger import Apply, LedgerRow
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, RestoreOutput
from tests.unit.sinks.files_on_disk import (
    BATCHES,
    Driver,
    KilledError,
    Lake,
    Paused,
    all_rows,
    done,
    killing,
    losing,
    opened,
    pausing,
    stage_here,
)

Lakes = Callable[[object], Lake]
"""Makes a new lake of a name."""
Steps = Callable[[], Iterator[int]]
"""The changes before which something happens, in order and without end."""
KEPT, ASIDE = "holdfast.kept_one", "holdfast.kept_two"


def row_of(lake: Lake) -> LedgerRow:
    found = lake.ledger().read("readings")
    assert isinstance(found, LedgerRow)
    return found


def _is_killed(driver: Driver) -> bool:
    try:
        driver.live()
    except KilledError:
        return True
    return False


def _emptied(lake: Lake) -> LedgerRow:
    assert Driver(lake, epoch=1).live()
    row = row_of(lake)
    assert lake.ledger().settle(row, opened(row, epoch=2), EmptyOutput(kept=KEPT))
    return row_of(lake)


class FilesSteps:
    """The protocol of the files sink."""

    @pytest.fixture(autouse=True)
    def without_spark(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Compute no rows."""
        stage_here(monkeypatch)

    @pytest.fixture
    def lakes(self) -> Lakes:
        """Return what makes lakes."""
        raise NotImplementedError

    @pytest.fixture
    def steps(self) -> Steps:
        """Return every change."""
        return count

    def test_a_driver_killed_at_any_step_leaves_complete_batches(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            lake = lakes(step)
            try:
                Driver(lake, epoch=1, before=killing(step)).live()
            except KilledError:
                lake.seen()
                assert Driver(lake, epoch=2).live()
                assert lake.seen() == all_rows()
                assert not lake.junk()
            else:
                assert step > 15
                return

    def test_a_driver_killed_in_its_recovery_leaves_complete_batches(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            for later in range(0, 12, 3):
                lake = lakes(f"{step}-{later}")
                if not _is_killed(Driver(lake, epoch=1, before=killing(step))):
                    return
                _is_killed(Driver(lake, epoch=2, before=killing(later)))
                lake.seen()
                assert Driver(lake, epoch=3).live()
                assert lake.seen() == all_rows()
                assert not lake.junk()

    def test_a_driver_paused_at_any_step_and_replaced_publishes_nothing_more(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            lake = lakes(step)

            def take_over(lake: Lake = lake) -> None:
                assert Driver(lake, epoch=2).live()
                assert lake.seen() == all_rows()

            before, paused = pausing(step, take_over)
            try:
                went_on = Driver(lake, epoch=1, before=before).live()
            except HoldfastError:
                went_on = False
            if not paused:
                assert step > 15
                return
            assert not went_on or row_of(lake).last_batch == BATCHES - 1, paused
            assert lake.seen() == all_rows(), paused
            assert row_of(lake).epoch == 2

    def test_a_paused_driver_that_resumes_within_the_takeover_publishes_once(
        self, lakes: Lakes
    ) -> None:
        """Both ways: before every step of the second batch, and every step of its successor."""
        for step in count():
            for later in range(14):
                lake = lakes(f"{step}-{later}")
                first = Paused(lake, step=step)
                if first.is_done:
                    first.go_on()
                    assert step == 3
                    return
                before, paused = pausing(later, first.go_on)
                assert Driver(lake, epoch=2, before=before).live(), (step, paused)
                if not paused:
                    first.go_on()
                assert lake.seen() == all_rows(), (step, paused)
                assert row_of(lake).epoch == 2

    def test_a_paused_driver_adds_nothing_to_what_a_reset_has_emptied(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            lake = lakes(step)

            def reset(lake: Lake = lake) -> None:
                first = Driver(lake, epoch=2)
                row = first.start()
                assert row is not None
                new = opened(row, epoch=2)
                assert first.ledger.settle(row, new, EmptyOutput(kept=KEPT))
                assert not lake.seen()
                for number in range(BATCHES):
                    Driver(lake, epoch=2).write(new, number)
                assert lake.seen() == all_rows(generation=2)

            before, paused = pausing(step, reset)
            with suppress(HoldfastError):
                Driver(lake, epoch=1, before=before).live()
            if not paused:
                assert step > 15
                return
            assert lake.seen() == all_rows(generation=2), paused

    def test_a_reset_killed_at_any_step_is_finished_by_the_next_driver(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            lake = lakes(step)
            assert Driver(lake, epoch=1).live()
            row = row_of(lake)
            try:
                killed = lake.ledger(killing(step))
                killed.settle(row, opened(row, epoch=2), EmptyOutput(kept=KEPT))
            except KilledError:
                is_set = row_of(lake).generation == 2
                lake.seen()
                assert Driver(lake, epoch=3).start() is not None
                assert lake.seen() == (all_rows(batches=0) if is_set else all_rows())
                assert not lake.junk()
            else:
                assert step > 5
                return

    def test_an_undo_killed_at_any_step_is_finished_by_the_next_driver(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        output = ExchangeOutput(generation=2, kept=KEPT, aside=ASIDE, rows=None)
        for step in steps():
            lake = lakes(step)
            row = _emptied(lake)
            later = Driver(lake, epoch=3)
            current = later.start()
            assert current is not None
            later.write(current, 0)
            row = row_of(lake)
            try:
                lake.ledger(killing(step)).settle(row, done(row, generation=3, epoch=4), output)
            except KilledError:
                is_set = row_of(lake).generation == 3
                lake.seen()
                assert Driver(lake, epoch=5).start() is not None
                expected = all_rows() if is_set else all_rows(generation=2, batches=1)
                assert lake.seen() == expected
                assert not lake.junk()
            else:
                assert lake.seen() == all_rows()
                assert step > 10
                return

    def test_a_reset_that_is_paused_and_undone_takes_nothing_away_later(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            lake = lakes(step)
            assert Driver(lake, epoch=1).live()
            row = row_of(lake)

            def undo(lake: Lake = lake) -> None:
                found = Driver(lake, epoch=3).start()
                assert found is not None
                if found.generation == 2:
                    output = ExchangeOutput(generation=2, kept=KEPT, aside=ASIDE, rows=None)
                    back = done(found, generation=3, epoch=4)
                    assert lake.ledger().settle(found, back, output)
                assert lake.seen() == all_rows()

            before, paused = pausing(step, undo)
            try:
                settled = lake.ledger(before).settle(
                    row, opened(row, epoch=2), EmptyOutput(kept=KEPT)
                )
            except HoldfastError:
                settled = False
            if not paused:
                assert settled
                assert step > 5
                return
            assert lake.seen() == all_rows(), paused

    def test_rows_stay_and_go_back_by_batch(self, lakes: Lakes) -> None:
        lake = lakes(0)
        assert Driver(lake, epoch=1).live()
        row = row_of(lake)
        ledger = lake.ledger()
        assert ledger.settle(row, opened(row, epoch=2), KeepOutput())
        second = Driver(lake, epoch=3)
        kept = second.start()
        assert kept is not None
        second.write(kept, 0)
        assert lake.seen() == all_rows() + all_rows(generation=2, batches=1)
        row = row_of(lake)
        rewound = opened(row, epoch=4)
        assert ledger.batch_versions("readings") == {0: "2.0"}
        assert ledger.settle(row, rewound, RestoreOutput(kept="1.1", aside=ASIDE))
        assert lake.seen() == all_rows(batches=2)
        back = done(rewound, generation=4, epoch=5)
        output = ExchangeOutput(generation=3, kept=ASIDE, aside=KEPT, rows=0)
        assert ledger.settle(rewound, back, output)
        assert lake.seen() == all_rows() + all_rows(generation=2, batches=1)

    @pytest.mark.parametrize("is_sent_again", [False, True])
    def test_a_lost_answer_to_any_change_duplicates_and_loses_nothing(
        self, lakes: Lakes, steps: Steps, *, is_sent_again: bool
    ) -> None:
        """The change was made; a move that is sent again finds no source."""
        for step in steps():
            lake = lakes(step)
            after, lost = losing(step, is_sent_again=is_sent_again)
            with suppress(HoldfastError):
                Driver(lake, epoch=1, after=after).live()
            lake.seen()
            assert Driver(lake, epoch=2).live()
            assert lake.seen() == all_rows(), lost
            assert not lake.junk()
            if not lost:
                assert step > 15
                return

    def test_a_late_task_shows_nothing(self, lakes: Lakes) -> None:
        """An attempt that was given up opens a file when Spark is done with the batch."""
        lake = lakes(0)
        row = Driver(lake, epoch=1).start()
        assert row is not None

        def write_late(what: str) -> None:
            if what.startswith("move ") and "/staging/" in what and "token" in what:
                place = f"{lake.sink.path.rpartition('/')[0]}/{what.split()[1]}"
                lake.write_file(f"{place}/_temporary/0/attempt_1", "part-9.json", '"late"\n')
                late.append(place)

        late: list[str] = []
        assert Driver(lake, epoch=1, before=write_late).write(row, 0) == Apply()
        lake.write_file(f"{late[0]}/_temporary/0/attempt_2", "part-9.json", '"later"\n')
        assert lake.seen() == all_rows(batches=1)
        assert Driver(lake, epoch=2).live()
        assert lake.seen() == all_rows()
        assert not lake.junk()

    def test_a_reset_killed_again_in_its_recovery_is_finished(
        self, lakes: Lakes, steps: Steps
    ) -> None:
        for step in steps():
            for later in range(0, 12, 3):
                lake = lakes(f"{step}-{later}")
                assert Driver(lake, epoch=1).live()
                row = row_of(lake)
                killed = lake.ledger(killing(step))
                try:
                    killed.settle(row, opened(row, epoch=2), EmptyOutput(kept=KEPT))
                except KilledError:
                    is_set = row_of(lake).generation == 2
                else:
                    assert step > 5
                    return
                with suppress(KilledError):
                    Driver(lake, epoch=3, before=killing(later)).start()
                lake.seen()
                assert Driver(lake, epoch=4).start() is not None
                assert lake.seen() == (all_rows(batches=0) if is_set else all_rows())
                assert not lake.junk()

    @pytest.mark.parametrize("is_sent_again", [False, True])
    def test_a_lost_answer_in_a_reset_leaves_all_or_nothing(
        self, lakes: Lakes, steps: Steps, *, is_sent_again: bool
    ) -> None:
        for step in steps():
            lake = lakes(step)
            assert Driver(lake, epoch=1).live()
            row = row_of(lake)
            after, lost = losing(step, is_sent_again=is_sent_again)
            settled = False
            with suppress(HoldfastError):
                ledger = lake.ledger(after=after)
                settled = ledger.settle(row, opened(row, epoch=2), EmptyOutput(kept=KEPT))
            is_set = row_of(lake).generation == 2
            assert is_set or not settled, lost
            assert Driver(lake, epoch=3).start() is not None
            assert lake.seen() == (all_rows(batches=0) if is_set else all_rows()), lost
            assert not lake.junk()
            if not lost:
                assert step > 5
                return
