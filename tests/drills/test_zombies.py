"""A driver that stands still past its lease, is replaced, and wakes up: it writes nothing more.

`HOLDFAST_ZOMBIES=all` stops it at every point; the gate draws one: inside its transaction, where it
holds the ledger row, between its lease and its fence, or with state that is written or half so.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest

from campaigns.judging import judge
from campaigns.postgres_races import make_course
from holdfast.drills.builtin.cells import BUILTIN, BuiltinSubject
from holdfast.drills.builtin.workload import write_files
from holdfast.drills.checks import KEPT as STATE
from holdfast.drills.history import format_row, parse_row
from holdfast.drills.kill import Named, Point
from holdfast.drills.kill.points import Rename
from holdfast.proof.multiset import compare
from lab import Kafka, Postgres
from lab.spark import environment

KEPT: list[Point] = [Named("S5", nth=2), Named("G3")]
OTHERS: list[Point] = [Named("S1", nth=2), Named("S3"), Named("S6"), Named("G5"), Named("G6")]
NOTHING_IN_HAND: list[Point] = [Named("G5"), Named("G6")]
ALL = os.environ.get("HOLDFAST_ZOMBIES") == "all"
POINTS = KEPT + OTHERS if ALL else KEPT
WITH_STATE: list[tuple[str, Point]] = [
    ("postgres-counts-rocksdb", Named("S5", nth=3)),
    ("postgres-counts-rocksdb2", Named("S5", nth=3)),
    ("postgres-counts-rocksdb2", Rename("before", ".zip", 5)),
]
"""In format 1 a state that it writes when it wakes up can break that of the next driver."""
BATCHES_BEFORE, BATCHES_AFTER = 3, 3
UPKEEP = {"spark.sql.streaming.stateStore.maintenanceInterval": "100ms"}
"""So often that it comes in the moments in which it is awake."""

sampled = pytest.mark.sampled(len(POINTS) + len(WITH_STATE) if ALL else 1)


@sampled
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
        judge(course.work)
        sleeper.resume()
        ended = sleeper.wait()
    judge(course.work)
    with psycopg.connect(course.work.dsn) as connection:
        query = "SELECT batch, epoch FROM holdfast.history ORDER BY committed_at, batch"
        epochs = [epoch for _, epoch in connection.execute(query)]
    assert epochs == sorted(epochs), "the first driver wrote after the second had taken over"
    # Past its fence and before its first batch it finds nothing left to write, and ends well.
    if point not in NOTHING_IN_HAND:
        assert ended.status != 0, "it did not say that it was replaced"


def show(home: Path, *, files: int) -> None:
    """Let the source hold so many files more."""
    (home / "files").mkdir(exist_ok=True)
    for path in sorted((home / "later").iterdir())[:files]:
        path.rename(home / "files" / path.name)


@sampled
@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize(("name", "point"), WITH_STATE, ids=str)
def test_the_state_is_that_of_the_driver_that_went_on(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, point: Point
) -> None:
    for variable, value in environment(tmp_path / "spark", {}).items():
        monkeypatch.setenv(variable, value)
    files = BATCHES_BEFORE + BATCHES_AFTER
    subject = BuiltinSubject(stream=BUILTIN[name], files=files, home=tmp_path, dsn=database)
    subject.config["settings"] = {**subject.config["settings"], **UPKEEP}
    write_files(tmp_path / "later", files=files)
    show(tmp_path, files=BATCHES_BEFORE)
    for place in subject.places:
        place.prepare()
    with subject.driver.start(point, strike=signal.SIGSTOP) as sleeper:
        sleeper.wait_until_halted()
        subject.driver.run_to_end()
        sleeper.resume()
        assert sleeper.wait().status != 0, "it did not say that it was replaced"
    show(tmp_path, files=BATCHES_AFTER)
    subject.driver.run_to_end()
    shape = subject.stream.shape
    expected = {"postgres": shape.after(files), STATE: shape.state(files)}
    for seen in subject.look():
        wanted = [parse_row(format_row(row)) for row in expected.pop(seen.sink)]
        found = compare(wanted, [parse_row(format_row(row)) for row in seen.rows])
        assert found.exact, f"{seen.sink}: {found}"
    assert expected == {}
