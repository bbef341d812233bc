"""States that a crash can leave behind, drawn by the seed; all are `campaigns.crash_states`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from campaigns.crash_states.recordings import PostgresSink, Recording, State, find_states, record
from campaigns.crash_states.replay import in_one_session, replay, run
from holdfast.drills.builtin.places import DSN_NAME
from holdfast.drills.builtin.workload import APPEND, ROWS_PER_FILE
from holdfast.ledger.decide import Apply
from lab import Postgres
from lab.faults.trace import Operation

STATES = 150
FILES = {"postgres-append": 12, "postgres-counts-rocksdb": 4, "postgres-counts-rocksdb2": 3}
STUCK = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"


@pytest.fixture(scope="module")
def recordings(
    spark: SparkSession, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sequence[Recording]]:
    assert spark.version
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(DSN_NAME, postgres.create_database("crash_states"))
        yield record(tmp_path_factory.mktemp("states"), files=FILES)


def operation(path: str) -> Operation:
    return Operation(what="rename", path=Path(path), came_from=None, kept=Path("none"))


def test_a_batch_may_or_may_not_be_in_the_table_until_its_commit_is_written() -> None:
    paths = ("_holdfast/readings/contracts/1", "_holdfast/readings/runs/1", "readings/offsets/0")
    done = [operation(f"/live/{path}") for path in (*paths, "readings/commits/0")]
    states = find_states(done, PostgresSink(dsn="", table="", shape=APPEND))
    expected = [(0, None), (1, None), (1, 0), (2, 0), (3, 0), (3, 1), (4, 1)]
    assert [(state.done, state.batches) for state in states] == expected


def test_from_every_state_the_stream_ends_exact(
    spark: SparkSession, recordings: Sequence[Recording], seed: int
) -> None:
    results = run(in_one_session(spark), recordings, states=STATES, seed=seed)
    assert [wrong for result in results for wrong in result.wrong] == []
    assert sum(result.replayed for result in results) == STATES


def states_of(recording: Recording) -> Sequence[State]:
    return list(find_states(recording.operations, recording.sink))


def test_spark_alone_never_starts_after_a_kill_in_the_first_batch(
    spark: SparkSession, recordings: Sequence[Recording]
) -> None:
    """Its temp file of `offsets/0` is there, and the guard moves it aside."""
    for recording in recordings:
        session = spark.newSession()
        *_, state = (each for each in states_of(recording) if not each.progress.offsets)
        recording.restore(state)
        files = recording.show(2)
        assert [recording.start_plain(session) for _ in range(3)] == [STUCK] * 3
        recording.go_on(session)
        assert recording.judge(files) is None


@dataclass(frozen=True, kw_only=True)
class OneRowMore(PostgresSink):
    """A table that is not what it was."""

    def restore(self, batches: int | None) -> None:
        super().restore(batches)
        with psycopg.connect(self.dsn) as connection:
            connection.execute(f"INSERT INTO {self.table} VALUES (0)".encode())


def test_a_row_too_many_is_reported(
    spark: SparkSession, recordings: Sequence[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, sink = recordings[0], recordings[0].sink
    assert isinstance(sink, PostgresSink)
    planted = OneRowMore(dsn=sink.dsn, table=sink.table, shape=sink.shape)
    monkeypatch.setattr(recording, "sink", planted)
    (result,) = run(in_one_session(spark), [recording], states=2, seed=1)
    assert len(result.wrong) == result.replayed == 2
    assert all("duplicated=1," in wrong for wrong in result.wrong)


def test_a_sink_that_ignores_its_ledger_is_reported(
    spark: SparkSession, recordings: Sequence[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = recordings[0]
    state = next(each for each in states_of(recording) if each.batches == 1)
    for module in ("writer", "write"):
        monkeypatch.setattr(f"holdfast.sinks.postgres.{module}.decide", lambda *_: Apply())
    assert f"duplicated={ROWS_PER_FILE}," in (replay(spark, recording, state) or "")


def test_a_stream_that_does_not_start_is_reported(
    spark: SparkSession, recordings: Sequence[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = recordings[0]
    monkeypatch.setitem(recording.config, "shape", "merge")
    assert "stuck: " in (replay(spark, recording, states_of(recording)[-1]) or "")
