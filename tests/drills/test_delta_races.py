"""Two drivers of one Delta table at the same time: nothing is lost and nothing duplicated.

More of them, and on S3, is `python -m campaigns.delta_races`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from campaigns.delta_races import GOES_ON_AT, HALTED_AT, make_course, race, take_over

pytestmark = pytest.mark.usefixtures("class_archive")


def test_of_two_drivers_started_at_once_one_runs_at_a_time(tmp_path: Path) -> None:
    assert "one at a time" in race(make_course(tmp_path))


def test_a_driver_that_does_not_wait_replaces_the_other(tmp_path: Path, *, seed: int) -> None:
    choose = random.Random(seed)
    assert take_over(make_course(tmp_path), choose.choice(HALTED_AT), choose.choice(GOES_ON_AT))
