"""The step of a backfill: which pipeline it goes on with, what it must be allowed, and its undo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import InterruptedPlanError, NotAllowedError, StalePlanError
from holdfast.apply.steps import ranges
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.errors import ConfigError
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.plan.goal import Code
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Asked, Request
from holdfast.plan.steps import WriteRange
from holdfast.record.contracts import SinkContract
from holdfast.sinks.delta.sink import Delta
from holdfast.streams.backfill import job, prepare
from tests.unit.apply.memory_ledger import MemoryLedger
from tests.unit.apply.plans import STREAM, make_root, plan_of

NAME = f"{STREAM}-backfill-7c1f04ab"
SINK = SinkContract(kind="delta", place="/lake/raw", label="raw")
WORD = f"skips-data:{STREAM}"
ROW = LedgerRow(
    stream=NAME,
    sink="raw",
    generation=1,
    epoch=1,
    nonce="n",
    binding=Binding(query_id=QueryId("q"), checkpoint="/c"),
    last_batch=NO_BATCH,
    digest=None,
    end_offsets="{}",
)


@dataclass
class World:
    """A backfill of two chunks, without Spark."""

    root: Path
    ledger: MemoryLedger
    expired: int = 0
    sink: SinkContract = SINK
    is_broken: bool = False

    def stores(self) -> Stores:
        code = Code(spark=cast("Any", None), pipeline=cast("Any", None))
        found = Stores(code=code)
        found.ledger = lambda *_, **__: self.ledger  # type: ignore[method-assign]
        return found

    def prepare(self, *_: object) -> Any:
        record = self.root / "_holdfast" / STREAM / "backfills" / NAME
        left = (SimpleNamespace(expired=self.expired),)
        return SimpleNamespace(
            name=NAME,
            known=SimpleNamespace(name=STREAM),
            record=Stores().at(str(record)),
            sinks=(SimpleNamespace(describe=lambda: self.sink),),
            left=lambda _: left,
        )

    def open_job(self, *_: object) -> Any:
        return SimpleNamespace(fence=lambda: 0, run=self.run)

    def run(self, *_: object) -> None:
        if self.is_broken:
            raise ConfigError("The broker is gone.")
        self.ledger.row = replace(self.ledger.row, last_batch=BatchId(1))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    found = World(root=make_root(tmp_path), ledger=MemoryLedger(ROW))
    monkeypatch.setattr(ranges, "prepare_for", found.prepare)
    monkeypatch.setattr(job, "open_job", found.open_job)
    monkeypatch.setattr(prepare, "find_repeats", lambda _: None)
    return found


def backfill(world: World) -> Plan:
    step = WriteRange(stream=NAME, start="{}", end="{}", chunks=2, sinks=(SINK,), why="w")
    asked = Asked(request=Request(goal="backfill"), location=STREAM)
    plan = plan_of(world.root, step, goal="backfill", stream=NAME, beside=STREAM, asked=asked)
    impact = msgspec.structs.replace(plan.impact[0], stream=NAME)
    return msgspec.structs.replace(plan, impact=(impact,))


def interrupted(world: World) -> Plan:
    """Return a plan that was begun, and has written nothing."""
    plan = backfill(world)
    world.is_broken = True
    with pytest.raises(InterruptedPlanError, match="The broker is gone"):
        apply_plan(plan, world.stores(), allowed=())
    world.is_broken = False
    return plan


def test_what_expires_before_it_goes_on_needs_its_word(world: World) -> None:
    plan = interrupted(world)
    world.expired = 40
    with pytest.raises(InterruptedPlanError, match=f"40 offsets.*--allow {WORD}") as caught:
        continue_plan(plan, world.stores())
    assert isinstance(caught.value.__cause__, NotAllowedError)
    assert caught.value.__cause__.missing == (WORD,)
    assert world.ledger.row.last_batch == -1
    continue_plan(plan, world.stores(), allowed={WORD})
    assert world.ledger.row.last_batch == 1


def test_a_pipeline_with_another_root_does_not_go_on(world: World, tmp_path: Path) -> None:
    plan, production = interrupted(world), world.root
    world.root = tmp_path / "staging"
    with pytest.raises(InterruptedPlanError, match=r"staging.*the plan at") as caught:
        continue_plan(plan, world.stores())
    assert str(production) in str(caught.value)
    assert world.ledger.row.last_batch == -1


def test_a_pipeline_with_another_sink_does_not_go_on(world: World) -> None:
    plan = interrupted(world)
    world.sink = msgspec.structs.replace(SINK, place="/staging/raw")
    with pytest.raises(InterruptedPlanError, match="now /staging/raw, then /lake/raw"):
        continue_plan(plan, world.stores())
    assert world.ledger.row.last_batch == -1


def journal_of(plan: Plan, root: Path) -> str:
    return f"{root}/_holdfast/{STREAM}/backfills/{plan.stream}/journal/{plan.id}"


def test_before_its_first_chunk_it_is_taken_back_and_fenced(world: World) -> None:
    plan = interrupted(world)
    back = plan_undo(journal_of(plan, world.root), world.stores())
    assert isinstance(back, Plan)
    apply_plan(back, world.stores(), allowed=())
    assert world.ledger.row.epoch > ROW.epoch
    assert world.ledger.row.last_batch == -1


def test_a_chunk_that_comes_before_the_fence_stops_the_undo(world: World) -> None:
    plan = interrupted(world)
    back = plan_undo(journal_of(plan, world.root), world.stores())
    assert isinstance(back, Plan)
    world.ledger.row = replace(ROW, last_batch=BatchId(0))
    with pytest.raises(StalePlanError, match="holds rows of"):
        apply_plan(back, world.stores(), allowed=())


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (None, None),
        (ROW, None),
        (replace(ROW, last_batch=BatchId(0)), "holds rows"),
        (Unreadable("no right to read"), "no right to read"),
    ],
)
def test_what_is_taken_back(world: World, row: Any, says: str | None) -> None:
    plan = interrupted(world)
    world.ledger.row = row
    found = plan_undo(journal_of(plan, world.root), world.stores())
    if says is None:
        assert isinstance(found, Plan)
    else:
        assert isinstance(found, NoPlan)
        assert says in found.reason


def test_of_two_tables_with_one_label_the_one_of_the_step_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Any] = []

    def open_ledger(sink: Delta, *_: object, **__: object) -> MemoryLedger:
        opened.append(sink)
        return MemoryLedger(ROW)

    monkeypatch.setattr(Delta, "open_ledger", open_ledger)
    eu, us = Delta(path="/lake/eu/orders"), Delta(path="/lake/us/orders")
    streams = {"eu": SimpleNamespace(sinks=(eu,)), "us": SimpleNamespace(sinks=(us,))}
    code = Code(spark=cast("Any", object()), pipeline=cast("Any", SimpleNamespace(streams=streams)))
    for place in ("/lake/us/orders", "/lake/asia/orders"):
        sink = SinkContract(kind="delta", place=place, label="orders")
        Stores(code=code).ledger(sink, writes=False)
    assert [each.place for each in opened] == ["/lake/us/orders", "/lake/asia/orders"]
