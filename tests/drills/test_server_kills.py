"""PostgreSQL is killed under a guarded stream, once in every way: nothing lost, nothing duplicated.

Thirty times each is `python -m campaigns.server_kills`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from campaigns.judging import end_session, judge
from campaigns.server_kills import Stream, kill_in_every_way
from campaigns.streams.postgres_shapes import APPENDED, COUNTS, Shape
from campaigns.streams.postgres_workload import make_workload
from holdfast.drills.drill import Recording
from holdfast.ledger.row import Attempt
from holdfast.sinks.postgres import write
from holdfast.sinks.postgres.ledger_rows import advance_row
from lab import Kafka, Postgres


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


def test_a_killed_server_loses_and_doubles_nothing(
    spark: SparkSession,
    kafka: Kafka,
    own_postgres: Postgres,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("READINGS_DSN", "")  # so that it is as before afterwards
    every = list(kill_in_every_way(spark, kafka, own_postgres, directory=tmp_path, kills=1))
    assert len(every) == 12
    for told, killed in every:
        assert killed.looks, f"{told}: the reader never looked"
        assert killed.failures == 0, f"{told}: the ledger is asked, and the query goes on"


@pytest.mark.parametrize("shape", [APPENDED, COUNTS], ids=lambda shape: shape.name)
def test_the_reader_sees_a_batch_that_is_committed_in_two_steps(
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shape: Shape,
) -> None:
    """A planted fault: without it a reader that sees nothing would prove nothing."""
    work = make_workload(kafka, postgres, shape, batches=2)
    monkeypatch.setenv("READINGS_DSN", work.dsn)
    recording = Recording(work, tmp_path / "history")

    def advance_later(connection: psycopg.Connection[Any], attempt: Attempt, **more: Any) -> None:
        connection.execute("COMMIT")
        recording.write(work.count())
        connection.execute("BEGIN")
        advance_row(connection, attempt, **more)

    monkeypatch.setattr(write, "advance_row", advance_later)
    recording.start()
    Stream(spark=spark, work=work, root=tmp_path / "streams").begin().awaitTermination()
    end_session(recording)
    # At the end all is well: only a reader that looks in between can tell.
    judge(work)
    told = {each.check: each.told for each in recording.check() if each.verdict.is_bad}
    assert list(told) == ["complete-batches"], told
    assert "the reader saw during driver 1" in told["complete-batches"]
