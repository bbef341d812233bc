"""A driver of a Delta table that stands still, is replaced, and wakes up: it commits nothing more.

`HOLDFAST_ZOMBIES=all` stops it at every point; the gate keeps the one between what it has decided
and its commit.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from campaigns.delta_races import make_course
from campaigns.judging import judge
from holdfast.drills.kill import Named, Point

KEPT: list[Point] = [Named("S3")]
OTHERS: list[Point] = [
    Named("S1", nth=2),
    Named("S6"),
    Named("fenced"),
    Named("G3"),
    Named("G5"),
]
NOTHING_IN_HAND: list[Point] = [Named("G5")]
POINTS = KEPT + OTHERS if os.environ.get("HOLDFAST_ZOMBIES") == "all" else KEPT


@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_a_driver_that_wakes_up_too_late_commits_nothing(tmp_path: Path, point: Point) -> None:
    course = make_course(tmp_path)
    with course.driver("first").start(point, strike=signal.SIGSTOP) as sleeper:
        sleeper.wait_until_halted()
        course.driver("second", "--takeover").run_to_end()
        judge(course.work)
        before = course.work.open("table").read()
        sleeper.resume()
        ended = sleeper.wait()
    assert not ended.timed_out
    judge(course.work)
    assert course.work.open("table").read() == before, "it committed after it was replaced"
    # Past its fence and before its first batch it finds nothing left to write, and ends well.
    if point not in NOTHING_IN_HAND:
        assert ended.status != 0, "it did not say that it was replaced"
