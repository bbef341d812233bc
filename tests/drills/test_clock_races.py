"""Two drivers, one with a clock that is ten minutes wrong: one owner, and nothing duplicated.

Two hundred races, and real Spark drivers, are `python -m campaigns.clock_races`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from campaigns.clock_races.drivers import MINUTES_10
from campaigns.clock_races.races import Course, Plan, draw, make_course, run
from lab import S3, Postgres

RACES = 4


@pytest.fixture
def on_course(
    postgres: Postgres, s3: S3, tmp_path: Path
) -> Callable[..., AbstractContextManager[Course]]:
    return partial(make_course, postgres, s3, tmp_path)


def test_a_clock_that_is_moved_gives_nobody_a_lease(
    on_course: Callable[..., AbstractContextManager[Course]], seed: int
) -> None:
    with on_course() as course:
        for plan in draw(RACES, random.Random(seed)):
            assert run(course, plan).total() == 2


def test_a_lease_that_is_waited_for_by_the_time_of_day_is_found_out(
    on_course: Callable[..., AbstractContextManager[Course]],
) -> None:
    """A planted fault: without it races that end well would prove nothing."""
    plan = Plan(
        number=0,
        on_s3=False,
        halts_at=None,
        goes_on_at=None,
        moved=1,
        by=MINUTES_10,
        beforehand=False,
    )
    with (
        on_course(lease_clock="wall") as course,
        pytest.raises(AssertionError, match="took the lease of a living owner"),
    ):
        run(course, plan)
