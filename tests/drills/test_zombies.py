"""A driver that stands still past its lease, is replaced, and wakes up: it writes nothing more.

`HOLDFAST_ZOMBIES=all` stops it at every point; the gate keeps two: inside its transaction, where it
holds the ledger row, and between its lease and its fence.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest

from benchmarks.guard_races import make_course
from holdfast.drills.kill import Named, Point
from lab import Kafka, Postgres

KEPT: list[Point] = [Named("S5", nth=2), Named("G3")]
OTHERS: list[Point] = [Named("S1", nth=2), Named("S3"), Named("S6"), Named("G5"), Named("G6")]
NOTHING_IN_HAND: list[Point] = [Named("G5"), Named("G6")]
POINTS = KEPT + OTHERS if os.environ.get("HOLDFAST_ZOMBIES") == "all" else KEPT


@pytest.mark.sampled(1 if POINTS == KEPT else len(POINTS))
@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_a_driver_that_wakes_up_too_late_writes_nothing(
    kafka: Kafka, postgres: Postgres, *, tmp_path: Path, point: Point
) -> None:
    course = make_course(kafka, postgres, tmp_path)
    with course.driver("first").start(point, strike=signal.SIGSTOP) as sleeper:
        sleeper.wait_until_halted()
        # It waits until the sleeper's heartbeat has not changed for its term, and takes over.
        course.driver("second").run_to_end()
        course.work.judge(None)
        sleeper.resume()
        ended = sleeper.wait()
    course.work.judge(None)
    with psycopg.connect(course.work.dsn) as connection:
        query = "SELECT batch, epoch FROM holdfast.history ORDER BY committed_at, batch"
        epochs = [epoch for _, epoch in connection.execute(query)]
    assert epochs == sorted(epochs), "the first driver wrote after the second had taken over"
    # Past its fence and before its first batch it finds nothing left to write, and ends well.
    if point not in NOTHING_IN_HAND:
        assert ended.status != 0, "it did not say that it was replaced"
