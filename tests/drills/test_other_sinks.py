"""Two deaths of streams without a guard; `python -m campaigns.other_sinks` has them all."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from campaigns.other_sinks import plain_streams
from campaigns.other_sinks.plain_readers import ROWS_PER_FILE, is_whole, look_at_table, polling
from campaigns.other_sinks.table import FILES, write_sample
from holdfast.drills.checks import READER, Past, count_rows
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.history import History
from holdfast.drills.kill import Point, Rename, Send
from holdfast.drills.user_stream import Expected, Target, UserStream
from holdfast.drills.verdict import DrillVerdict
from lab import Postgres
from lab.spark import environment

ROWS = [("sink", f"row-{row:06}") for row in range(FILES * ROWS_PER_FILE)]


@pytest.fixture
def servers(postgres: Postgres, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the database of this test as the streams find it."""
    name = database.partition("dbname=")[2].split()[0]
    monkeypatch.setenv(plain_streams.DSN, database)
    monkeypatch.setenv(plain_streams.JDBC, postgres.jdbc_url(name))


@pytest.fixture
def jdbc_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UserStream:
    """A stream that appends with Spark's JDBC writer, in a database of its own."""
    for each, value in environment(tmp_path / "spark", {}).items():
        monkeypatch.setenv(each, value)
    module = plain_streams.__name__
    return UserStream(
        of=Target(
            start=f"{module}:jdbc_append",
            sample=write_sample(tmp_path / "sample"),
            read=f"{module}:read_jdbc",
        ),
        home=tmp_path / "place",
        expected=Expected(rows=ROWS),
    )


def kill(stream: UserStream, point: Point) -> Drilled:
    reading = partial(polling, look_at_table, stream.home)
    return run_drill("once", stream, [point], directory=stream.home, reading=reading)


@pytest.mark.usefixtures("class_archive", "servers")
def test_bare_spark_is_stuck_when_it_dies_before_its_first_offsets(jdbc_append: UserStream) -> None:
    drilled = kill(jdbc_append, Rename("before", "offsets/0"))
    told = {each.check: each for each in drilled.checked}
    assert told["fired"].verdict == DrillVerdict.PASS
    assert told["starts-again"].verdict == DrillVerdict.FAIL
    assert "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY" in told["starts-again"].told


@pytest.mark.usefixtures("class_archive", "servers")
def test_tasks_that_had_committed_are_duplicated_and_were_seen(jdbc_append: UserStream) -> None:
    drilled = kill(jdbc_append, Send("before", f"row-{ROWS_PER_FILE - 1:06}"))
    told = {each.check: each for each in drilled.checked if each.verdict.is_bad}
    assert list(told) == ["nothing-duplicated"], told
    history = History(drilled.directory)
    lost, duplicated, foreign = count_rows(history)
    assert (lost, foreign) == (0, 0)
    assert 0 < duplicated < ROWS_PER_FILE
    past = Past(history)
    seen = {each.content for each in past.looks if each.by == READER}
    assert not all(is_whole(past.content(each)) for each in seen)
