"""`hf.Postgres` on a real PostgreSQL, with rows from Arrow: which way a batch goes, and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import LongType, StructField, StructType

from holdfast.errors import ConfigError
from holdfast.ids import BatchId
from holdfast.ledger import Apply, Reason, Refuse, Skip
from holdfast.sinks import collect
from holdfast.sinks.collect import TooLargeError
from holdfast.sinks.failures import LostAnswerError, TableError
from holdfast.sinks.postgres import fence, large
from holdfast.sinks.postgres.fence import session_name
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.writer import PostgresWriter
from tests.ledger_rows import ROW, attempt
from tests.stand_ins import stand_in
from tests.whole_batches import with_end
from tests.writers import open_writer

BUDGET = 1 << 10
SCHEMA = StructType([StructField("id", LongType())])


@dataclass
class Batch:
    """Rows, as Spark gives them: collected on the driver, or run through a function in a task."""

    ids: list[int]
    size: int = 0
    too_large: bool = False
    is_cut: bool = False
    """Whether a task gets no end of the rows."""
    lost: bool = False
    """Whether the task's answer does not come back."""

    @property
    def sparkSession(self) -> Any:  # noqa: N802 - Spark's own name
        return SimpleNamespace(conf={collect.BUDGET_SETTING: str(BUDGET)}, _jsparkSession=None)

    @property
    def _jdf(self) -> Any:
        stats = SimpleNamespace(sizeInBytes=lambda: self.size)
        plan = SimpleNamespace(stats=lambda: stats)
        return SimpleNamespace(queryExecution=lambda: SimpleNamespace(optimizedPlan=lambda: plan))

    @property
    def batches(self) -> Iterator[Any]:
        yield pa.record_batch([pa.array(self.ids, pa.int64())], names=["id"])

    def mapInArrow(self, function: Any, schema: str) -> Any:  # noqa: N802 - Spark's own name
        assert schema == "said string"
        given = list(with_end(*self.batches))

        def collect() -> list[Any]:
            rows = iter(given[:-1] if self.is_cut else given)
            said = [row for each in function(rows) for row in each.to_pylist()]
            if self.lost:
                raise PySparkException("the executor is gone")
            return [SimpleNamespace(**row) for row in said]

        return SimpleNamespace(collect=collect)


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the rows from a `Batch` instead of from Spark."""

    @contextmanager
    def collected(batch: Batch, *, budget: int) -> Iterator[Iterator[Any]]:
        assert budget == BUDGET
        if batch.too_large:
            raise TooLargeError
        yield batch.batches

    monkeypatch.setattr("holdfast.sinks.collect.collected", collected)
    monkeypatch.setattr(large, "with_end", lambda batch: batch)
    monkeypatch.setattr(large, "_look_there", looking)


def looking(spark: Any, dsn: Any) -> list[str]:
    """Find that executors lack nothing."""
    assert spark == "session"
    assert callable(dsn)
    return []


@pytest.fixture
def sink(database: str) -> Iterator[PostgresWriter]:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE TABLE readings (id bigint)")
    found = open_writer(
        PostgresSink(lambda: database, table="readings"),
        SimpleNamespace(schema=SCHEMA, sparkSession="session"),
    )
    assert found.ledger.replace(None, ROW)
    yield found
    found.close()


def ids(database: str) -> list[int]:
    with psycopg.connect(database) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM readings ORDER BY id")]


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which way each batch went."""
    found: list[str] = []
    for name in ("_write_here", "_write_in_task"):
        real = getattr(PostgresWriter, name)

        def noted(sink: Any, *given: Any, name: str = name, real: Any = real) -> Any:
            found.append(name)
            return real(sink, *given)

        monkeypatch.setattr(PostgresWriter, name, noted)
    return found


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "_write_here"),
        (BUDGET, "_write_here"),
        (BUDGET + 1, "_write_in_task"),
        ((1 << 50) - 1, "_write_in_task"),
        (1 << 50, "_write_here"),
        (1 << 63, "_write_here"),
    ],
)
def test_a_batch_over_the_budget_goes_by_a_task(
    sink: PostgresWriter, ways: list[str], *, size: int, expected: str, database: str
) -> None:
    counts: list[int] = []
    batch = Batch([1, 2], size=size)
    assert sink.write(attempt(0), stand_in(batch), before_commit=counts.append) == Apply()
    assert (ways, counts) == ([expected], [2 if expected == "_write_here" else 0])
    assert sink.write(attempt(0), stand_in(Batch([1, 2], size=size))) == Skip()
    assert sink.write(attempt(9), stand_in(Batch([1, 2], size=size))) == Refuse(Reason.GAP)
    assert ways == [expected], "what is decided already is not run"
    assert ids(database) == [1, 2]


def test_a_batch_that_turns_out_too_large_goes_by_a_task(
    sink: PostgresWriter, ways: list[str], *, database: str
) -> None:
    assert sink.write(attempt(0), stand_in(Batch([1, 2], too_large=True))) == Apply()
    assert ways == ["_write_here", "_write_in_task"]
    assert ids(database) == [1, 2]


@pytest.mark.parametrize("size", [0, BUDGET + 1])
def test_what_must_not_be_committed_is_not(
    sink: PostgresWriter, *, size: int, database: str
) -> None:
    def refuse(_: int) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        sink.write(attempt(0), stand_in(Batch([1, 2], size=size)), before_commit=refuse)
    assert ids(database) == []


def test_a_task_commits_all_rows_or_none(sink: PostgresWriter, database: str) -> None:
    batch = Batch([1, 2], size=BUDGET + 1, is_cut=True)
    with pytest.raises(Exception, match="before the end of the batch"):
        sink.write(attempt(0), stand_in(batch))
    assert ids(database) == []


def test_a_task_whose_answer_is_lost_is_asked_for_in_the_ledger(
    sink: PostgresWriter, database: str
) -> None:
    assert sink.write(attempt(0), stand_in(Batch([1], size=BUDGET + 1, lost=True))) == Skip()
    assert ids(database) == [1]
    assert sink.ledger.fence(ROW, epoch=2, nonce="n2") is not None
    told = sink._write_in_task(attempt(1), stand_in(Batch([2], lost=True)), lambda _: None)
    assert told == Refuse(Reason.EPOCH_FENCED)


def test_a_task_that_failed_before_its_commit_is_an_error(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> int:
        raise PySparkException("upstream")

    monkeypatch.setattr(Batch, "mapInArrow", fail)
    with pytest.raises(PySparkException, match="upstream"):
        sink.write(attempt(0), stand_in(Batch([1], size=BUDGET + 1)))


def test_executors_that_lack_something_write_nothing(sink: PostgresWriter, database: str) -> None:
    assert sink._executors is not None
    sink._executors._missing = ["the Python module pyarrow", "patience"]
    with pytest.raises(large.ExecutorLacksError) as raised:
        sink.write(attempt(0), stand_in(Batch([1], size=BUDGET + 1)))
    assert raised.value.missing == ["the Python module pyarrow", "patience"]
    assert sink.display_name in str(raised.value)
    assert ids(database) == []
    sink._executors = None
    assert sink.write(attempt(0), stand_in(Batch([1], size=BUDGET + 1))) == Apply()


def end_sessions(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_connection_that_died_is_made_anew(sink: PostgresWriter, database: str) -> None:
    first = sink.ledger.session.connection()
    assert sink.ledger.session.connection() is first
    assert (first.autocommit, first.prepare_threshold) == (True, None)
    end_sessions(database)
    assert sink.ledger.read("readings") == ROW
    second = sink.ledger.session.connection()
    assert second is not first
    second.close()
    assert sink.ledger.session.connection() is not second
    sink.close()
    sink.close()
    assert sink.ledger.read("readings") == ROW


def test_who_cannot_ask_the_ledger_says_that_the_batch_may_be_there(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any) -> Any:
        raise psycopg.OperationalError("no route")

    monkeypatch.setattr(PostgresWriter, "_ask_under_lock", unreachable)
    with pytest.raises(LostAnswerError) as raised:
        sink._settle(attempt(0))
    assert raised.value.what == "Batch 0 may or may not be in the PostgreSQL table public.readings."
    assert raised.value.why.endswith("and the ledger cannot be read.")
    assert "no route" in str(raised.value.__cause__)


def test_a_batch_that_did_not_arrive_is_known_not_to(sink: PostgresWriter, database: str) -> None:
    with pytest.raises(LostAnswerError) as raised:
        sink._settle(attempt(0))
    assert raised.value.what == "Batch 0 did not arrive in the PostgreSQL table public.readings."
    assert raised.value.why.endswith("and the ledger has no such batch.")
    assert sink.write(attempt(0), stand_in(Batch([1]))) == Apply()
    assert sink._settle(attempt(0)) == Skip()
    assert ids(database) == [1]


def test_the_ledger_is_asked_when_who_may_still_commit_is_done(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch, *, database: str
) -> None:
    """The old session holds the row until its commit is through, or it is rolled back."""
    monkeypatch.setattr(fence, "LOCK_TIMEOUT_MS", 40)
    monkeypatch.setattr(fence, "TRIES", 2)
    with psycopg.connect(database) as old:
        old.execute("SELECT * FROM holdfast.ledger FOR UPDATE")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            sink._ask_under_lock(attempt(0))
    assert sink._ask_under_lock(attempt(0)) == Apply()
    assert sink._ask_under_lock(attempt(3)) == Refuse(Reason.GAP)


def test_row_fence_and_examination_are_those_of_its_table(
    sink: PostgresWriter, database: str
) -> None:
    fenced = replace(ROW, epoch=2, nonce="n2")
    assert sink.ledger.fence(ROW, epoch=2, nonce="n2") == fenced
    assert sink.ledger.fence(ROW, epoch=2, nonce="other") is None
    new = replace(fenced, epoch=3, nonce="n3", last_batch=BatchId(0), digest="d0", end_offsets="e0")
    assert not sink.ledger.replace(ROW, new)
    assert sink.ledger.replace(fenced, new)
    assert sink.ledger.read("readings") == new
    assert sink.ledger.read("other") is None
    assert sink.write(attempt(1, epoch=3, nonce="n3"), stand_in(Batch([1]))) == Apply()
    assert sink.ledger.examine(new) is None
    with psycopg.connect(database) as connection:
        connection.execute("TRUNCATE readings")
    found = sink.ledger.examine(new)
    assert found is not None
    assert "truncated" in found
    assert sink.ledger.find_native("6f0c") is None


def test_who_stands_still_with_the_row_is_ended_by_the_sink(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch, *, database: str
) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.fence.LOCK_TIMEOUT_MS", 40)
    fenced = replace(ROW, epoch=2, nonce="n2")
    name = session_name(ROW.stream, ROW.sink)
    changes: list[Callable[[], bool]] = [
        lambda: sink.ledger.fence(ROW, epoch=2, nonce="n2") == fenced,
        lambda: sink.ledger.replace(fenced, replace(fenced, epoch=3, nonce="n3")),
    ]
    for change in changes:
        with psycopg.connect(database, application_name=name) as zombie:
            zombie.execute("SELECT * FROM holdfast.ledger FOR UPDATE")
            assert change()
            with pytest.raises(psycopg.OperationalError):
                zombie.execute("SELECT 1")
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT target = oid || '/' || relfilenode FROM holdfast.ledger, pg_class"
            " WHERE relname = 'readings'"
        ).fetchall()
    assert found == [(True,)], "which table it is, is known before the first batch"


def test_a_table_that_does_not_fit_is_refused_before_any_batch(database: str) -> None:
    df = SimpleNamespace(schema=SCHEMA, sparkSession="session")
    sink = PostgresSink(lambda: database, table="readings")
    with pytest.raises(TableError, match="no such table"):
        open_writer(sink, df)
    with psycopg.connect(database) as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (id bigint)")
    with pytest.raises(ConfigError, match="the PostgreSQL table readings"):
        open_writer(sink, df, output_mode="complete")
    merging = PostgresSink(lambda: database, table="readings", keys=["id"], sequence_by="id")
    with pytest.raises(TableError, match="no unique index"):
        open_writer(merging, df, output_mode="complete")
    with psycopg.connect(database) as connection:
        connection.execute("CREATE UNIQUE INDEX ON readings (id)")
    writer = open_writer(merging, df, output_mode="complete")
    assert (writer.target.keys, writer.target.sequence_by) == (("id",), "id")
    assert (writer._executors._spark, writer._executors._dsn) == ("session", merging.dsn)
    writer.close()


def test_a_sink_is_named_by_its_table_and_never_by_its_secret() -> None:
    sink = PostgresSink("env:DSN", table="public.readings")
    assert (sink.label, sink.is_appending) == ("public.readings", True)
    assert sink.display_name == "the PostgreSQL table public.readings"
    assert sink.place == "postgresql:public.readings@env:DSN"
    merging = PostgresSink("env:DSN", table="t", keys=["a"], sequence_by="at", name="mine")
    assert (merging.name, merging.is_appending) == ("mine", False)
    assert (merging.keys, merging.sequence_by) == (("a",), "at")
    with pytest.raises(ConfigError):
        PostgresSink("env:DSN", table="t", sequence_by="at")
