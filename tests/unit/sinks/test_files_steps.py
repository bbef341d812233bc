"""The files sink, killed and paused before every single change that it makes to the disk."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError
from holdfast.ledger import LedgerRow
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, RestoreOutput
from tests.unit.sinks import files_on_disk
from tests.unit.sinks.files_on_disk import (
    BATCHES,
    Driver,
    KilledError,
    Lake,
    Paused,
    all_rows,
    done,
    killing,
    opened,
    pausing,
)

pytestmark = pytest.mark.sampled(5)
without_spark = files_on_disk.without_spark
KEPT, ASIDE = "holdfast.kept_one", "holdfast.kept_two"


def row_of(lake: Lake) -> LedgerRow:
    found = lake.ledger().read("readings")
    assert isinstance(found, LedgerRow)
    return found


def test_a_driver_killed_at_any_step_leaves_complete_batches(tmp_path: Path) -> None:
    for step in count():
        lake = Lake(tmp_path / str(step))
        lake.home.mkdir()
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


def _is_killed(driver: Driver) -> bool:
    try:
        driver.live()
    except KilledError:
        return True
    return False


def test_a_driver_killed_in_its_recovery_leaves_complete_batches(tmp_path: Path) -> None:
    for step in count():
        for later in range(0, 12, 3):
            lake = Lake(tmp_path / f"{step}-{later}")
            lake.home.mkdir()
            if not _is_killed(Driver(lake, epoch=1, before=killing(step))):
                return
            _is_killed(Driver(lake, epoch=2, before=killing(later)))
            lake.seen()
            assert Driver(lake, epoch=3).live()
            assert lake.seen() == all_rows()
            assert not lake.junk()


def test_a_driver_paused_at_any_step_and_replaced_publishes_nothing_more(tmp_path: Path) -> None:
    for step in count():
        lake = Lake(tmp_path / str(step))
        lake.home.mkdir()

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


def test_a_paused_driver_that_resumes_within_the_takeover_publishes_once(tmp_path: Path) -> None:
    """Both ways: before every step of the second batch, and every step of its successor."""
    for step in count():
        for later in range(14):
            lake = Lake(tmp_path / f"{step}-{later}")
            lake.home.mkdir()
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


def test_a_paused_driver_adds_nothing_to_what_a_reset_has_emptied(tmp_path: Path) -> None:
    for step in count():
        lake = Lake(tmp_path / str(step))
        lake.home.mkdir()

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


def _emptied(lake: Lake) -> LedgerRow:
    assert Driver(lake, epoch=1).live()
    row = row_of(lake)
    assert lake.ledger().settle(row, opened(row, epoch=2), EmptyOutput(kept=KEPT))
    return row_of(lake)


def test_a_reset_killed_at_any_step_is_finished_by_the_next_driver(tmp_path: Path) -> None:
    for step in count():
        lake = Lake(tmp_path / str(step))
        lake.home.mkdir()
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


def test_an_undo_killed_at_any_step_is_finished_by_the_next_driver(tmp_path: Path) -> None:
    output = ExchangeOutput(generation=2, kept=KEPT, aside=ASIDE, rows=None)
    for step in count():
        lake = Lake(tmp_path / str(step))
        lake.home.mkdir()
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


def test_a_reset_that_is_paused_and_undone_takes_nothing_away_later(tmp_path: Path) -> None:
    for step in count():
        lake = Lake(tmp_path / str(step))
        lake.home.mkdir()
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
            settled = lake.ledger(before).settle(row, opened(row, epoch=2), EmptyOutput(kept=KEPT))
        except HoldfastError:
            settled = False
        if not paused:
            assert settled
            assert step > 5
            return
        assert lake.seen() == all_rows(), paused


def test_rows_stay_and_go_back_by_batch(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
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
