"""Plans for plain streams on real Spark: every goal and output, exact, and taken back exactly."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
from msgspec.structs import replace
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from holdfast.apply import movement
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.trees import HELD
from lab import Postgres
from tests.spark.restarts import add_file

RESET = Request(goal="reset", start="earliest", output="truncate")
REWIND = Request(goal="rewind", batch=0, output="restore")
REPLAY = Request(goal="replay", batches=1, output="restore")
SINKS = ("delta", "files", "postgres")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plan follow a run at once: what is quiet is tested elsewhere."""
    monkeypatch.setattr(movement, "find_movement", lambda *_, **__: None)


@dataclass
class Plain:
    """A program that nobody guards: text files into one sink, with `start()`."""

    spark: SparkSession
    home: Path
    sink: str
    dsn: str
    has_state: bool = False
    added: int = 0
    applied: list[str] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        return self.home / "cp" / "orders"

    @property
    def out(self) -> Path:
        return self.home / "lake" / "orders"

    @property
    def named(self) -> str:
        return "env:PLAIN_DSN#orders" if self.sink == "postgres" else str(self.out)

    def add(self, *rows: str) -> None:
        files = self.home / "in"
        files.mkdir(exist_ok=True)
        add_file(files, self.added, *rows)
        self.added += 1

    def run(self) -> None:
        """Run the program until it has read everything; it is the same before and after a plan."""
        read = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        rows = read.load(str(self.home / "in"))
        writer = (
            (rows.dropDuplicates() if self.has_state else rows)
            .writeStream.option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
        )
        if self.sink == "postgres":
            query = writer.foreachBatch(self._insert).start()
        else:
            kind = "delta" if self.sink == "delta" else "parquet"
            query = writer.format(kind).start(str(self.out))
        query.awaitTermination()

    def _insert(self, batch: DataFrame, _: int) -> None:
        with psycopg.connect(self.dsn) as connection:
            for row in batch.collect():
                connection.execute("INSERT INTO orders VALUES (%s)", (row.value,))

    def rows(self) -> Counter[str]:
        if self.sink == "postgres":
            with psycopg.connect(self.dsn) as connection:
                return Counter(each[0] for each in connection.execute("SELECT value FROM orders"))
        kind = "delta" if self.sink == "delta" else "parquet"
        if self.sink == "files" and not any(self.out.glob("_spark_metadata/*")):
            return Counter()
        return Counter(
            row.value for row in self.spark.read.format(kind).load(str(self.out)).collect()
        )

    def plan(self, request: Request, *, sink: bool = True) -> Plan | NoPlan:
        looks = DiagnoseRequest(
            location=str(self.checkpoint), sinks=(self.named,) if sink else (), probe=True
        )
        return make_plan(request, looks)

    def stores(self) -> Stores:
        return Stores(session=lambda: self.spark, roots=(str(self.out.parent),))

    def apply(self, plan: Plan | NoPlan) -> str:
        assert isinstance(plan, Plan), plan
        return apply_plan(plan, self.stores(), allowed=plan.words)

    def undo(self, journal: str) -> None:
        self.apply(plan_undo(journal, self.stores()))

    def tree(self) -> dict[str, bytes]:
        return {
            str(each.relative_to(self.checkpoint)): each.read_bytes()
            for each in self.checkpoint.rglob("*")
            if each.is_file()
        }


class Make(Protocol):
    def __call__(self, sink: str, *, has_state: bool = False) -> Plain: ...


@pytest.fixture
def make(
    *, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: Postgres
) -> Make:
    """Make a stream that has run two batches, into a kind of sink."""
    dsn = postgres.create_database(f"plain_{uuid.uuid4().hex[:10]}")
    monkeypatch.setenv("PLAIN_DSN", dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE orders (value text)")

    def run_twice(sink: str, *, has_state: bool = False) -> Plain:
        found = Plain(spark=spark, home=tmp_path, sink=sink, dsn=dsn, has_state=has_state)
        for number in (1, 2):
            found.add(f"a{number}", f"b{number}", "same")
            found.run()
        return found

    return run_twice


ALL = Counter({"a1": 1, "b1": 1, "a2": 1, "b2": 1, "same": 2})


@pytest.mark.parametrize("sink", SINKS)
def test_a_reset_is_exact_and_taken_back_before_and_after_a_run(make: Make, sink: str) -> None:
    plain = make(sink)
    before = plain.tree()
    plan = plain.plan(RESET)
    assert isinstance(plan, Plan), plan
    assert "unguarded:orders" in plan.words
    journal = plain.apply(plan)
    assert plain.rows() == Counter()
    plain.undo(journal)
    assert plain.rows() == ALL
    assert plain.tree() == before
    journal = plain.apply(plain.plan(RESET))
    plain.add("a3")
    plain.run()
    assert plain.rows() == ALL + Counter(["a3"])
    plain.undo(journal)
    assert plain.rows() == ALL
    assert plain.tree() == before
    plain.run()
    assert plain.rows() == ALL + Counter(["a3"])


@pytest.mark.parametrize("sink", SINKS[:2])
def test_an_output_that_is_kept_gets_what_is_new(make: Make, sink: str) -> None:
    """The file sink leaves out a batch with a number that its log has, without a word."""
    plain = make(sink)
    before = plain.tree()
    plan = plain.plan(Request(goal="reset", start="here", output="keep-from-here"))
    journal = plain.apply(plan)
    for row in ("a3", "a4"):
        plain.add(row)
    undo = plan_undo(journal, plain.stores())
    assert isinstance(undo, Plan)
    assert undo.words == ("unguarded:orders",)
    plain.run()
    assert plain.rows() == ALL + Counter(["a3", "a4"])
    undo = plan_undo(journal, plain.stores())
    if sink == "files":
        assert isinstance(undo, NoPlan)
        assert "would lose as many" in undo.reason
        return
    assert isinstance(undo, Plan)
    assert "repeats-data:orders" in undo.words
    plain.apply(undo)
    assert plain.tree() == before


def test_an_emptied_output_is_read_and_compacted_after_a_position(make: Make) -> None:
    """The position is batch 0 of the new checkpoint, and the log of the output needs a batch 0."""
    plain = make("files")
    plain.apply(plain.plan(Request(goal="reset", start="here", output="truncate")))
    new = [f"n{number}" for number in range(12)]  # Spark compacts after ten
    for row in new:
        plain.add(row)
    plain.run()
    assert (plain.out / "_spark_metadata/9.compact").is_file()
    assert plain.rows() == Counter(new)


@pytest.mark.parametrize("sink", SINKS[:2])
def test_what_is_emptied_and_not_read_again_is_said(make: Make, sink: str) -> None:
    emptied = make(sink).plan(Request(goal="reset", start="here", output="truncate"))
    assert isinstance(emptied, Plan)
    assert "skips-data:orders" in emptied.words
    assert "not read again" in emptied.impact[0].changes[0].what
    renamed = make(sink).plan(Request(goal="reset", start="here", output="new-table"))
    if sink == "files":
        assert isinstance(renamed, NoPlan)
        assert "without batch 0 cannot be read" in renamed.reason
        return
    assert isinstance(renamed, Plan)
    assert "skips-data:orders" in renamed.words
    assert renamed.afterwards[-1].startswith("Name another output in the code of orders")


def test_single_outputs_of_a_plain_stream_have_no_names(make: Make) -> None:
    named = {"orders/orders": "keep-from-here"}
    found = make("delta").plan(replace(RESET, outputs=named))
    assert isinstance(found, NoPlan)
    assert "--output-of for none" in found.reason


@pytest.mark.parametrize("request_", [REWIND, REPLAY], ids=["rewind", "replay"])
def test_a_log_of_batches_is_not_kept_by_what_goes_back(make: Make, request_: Request) -> None:
    found = make("files").plan(replace(request_, output="keep"))
    assert isinstance(found, NoPlan)
    assert "leaves out every batch" in found.reason


def test_a_stream_with_state_begins_after_its_reset(make: Make) -> None:
    """Spark 4 refuses to begin where `state` has anything in it, be it an empty directory."""
    plain = make("delta", has_state=True)
    assert (plain.checkpoint / "state/0/0").is_dir()
    plain.apply(plain.plan(RESET))
    assert not (plain.checkpoint / "state").exists()
    plain.run()
    assert plain.rows() == Counter(ALL.keys())


@pytest.mark.parametrize("request_", [REWIND, REPLAY], ids=["rewind", "replay"])
@pytest.mark.parametrize("sink", ["delta", "files"])
def test_a_stream_that_goes_back_runs_its_batches_once(
    make: Make, sink: str, request_: Request
) -> None:
    plain = make(sink)
    before = plain.tree()
    journal = plain.apply(plain.plan(request_))
    assert plain.rows() == Counter(["a1", "b1", "same"])
    plain.run()
    assert plain.rows() == ALL
    plain.undo(journal)
    assert plain.rows() == ALL
    assert plain.tree() == before


def test_a_table_that_does_not_tell_its_batches_does_not_go_back(
    make: Make,
) -> None:
    found = make("postgres").plan(REWIND)
    assert isinstance(found, NoPlan)
    assert "does not say which of its rows batch 0" in found.reason


def test_what_is_not_known_is_left_to_a_person_and_asked_for(
    make: Make,
) -> None:
    found = make("postgres").plan(RESET, sink=False)
    assert isinstance(found, Plan)
    assert "by-hand:orders" in found.words
    assert "what the stream writes is not known" in found.impact[0].outputs[0]


def test_no_program_starts_from_a_checkpoint_that_is_held(
    make: Make,
) -> None:
    plain = make("delta")
    plain.apply(plain.plan(Request(goal="retire")))
    assert (plain.checkpoint / "metadata").read_text() == HELD
    with pytest.raises(Py4JJavaError, match="JsonParseException"):
        plain.run()
    assert plain.rows() == ALL
    assert [*plain.tree()] == ["metadata"]
