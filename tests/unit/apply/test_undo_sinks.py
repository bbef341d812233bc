"""An undo follows what was carried out, and what has happened to the sinks since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import (
    DriftedPlanError,
    NotAllowedError,
    PlanBlockedError,
    StalePlanError,
)
from holdfast.apply.rehearse import rehearse
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.apply.undo import plan_undo
from holdfast.ids import BatchId
from holdfast.ledger.output import ExchangeOutput, KeepOutput
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Since
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import SettleSink
from holdfast.record.contracts import SinkContract
from holdfast.record.generations import newest_generation
from holdfast.record.repairs import unfinished_repairs
from tests.unit.apply.plans import STREAM, dying, journal_of, look
from tests.unit.apply.test_undo_later import SINK, Ledger, OneLedger, reset, row

WORD = f"destructive:{STREAM}"


def keeping(root: Path, **sink: object) -> Plan:
    """Return a reset that keeps the rows of its sink."""
    plan = reset(root, row(root, 1, 1))
    contract = SinkContract(**{**msgspec.structs.asdict(SINK), **sink})
    steps = tuple(
        msgspec.structs.replace(each, output=KeepOutput(), sink=contract)
        if isinstance(each, SettleSink)
        else each
        for each in plan.steps
    )
    held = LedgerIs(stream=STREAM, sink=contract, row=row(root, 1, 1), table=None)
    return msgspec.structs.replace(plan, steps=steps, preconditions=(*plan.preconditions, held))


def run_on(ledger: Ledger, batch: int) -> None:
    """Have the stream write one more batch."""
    assert isinstance(ledger.row, LedgerRow)
    ledger.row = replace(ledger.row, last_batch=BatchId(batch), digest="other")


def undo(plan: Plan, stores: Stores) -> Plan | NoPlan:
    return plan_undo(str(journal_of(plan).location), stores)


def test_rows_that_the_stream_has_written_since_need_a_word(tmp_path: Path) -> None:
    plan, ledger = reset(tmp_path, row(tmp_path, 1, 1)), Ledger(row(tmp_path, 1, 1))
    stores = OneLedger(ledger)
    apply_plan(plan, stores, allowed={WORD})
    run_on(ledger, 0)
    ledger.written = Since(own_rows=14, others=("other wrote 3 rows",))
    found = undo(plan, stores)
    assert isinstance(found, Plan)
    assert found.words == (WORD,)
    told = " ".join(found.impact[0].outputs)
    assert "loses 14 rows of generation 2" in told
    assert "other wrote 3 rows; that stays" in told
    with pytest.raises(NotAllowedError):
        apply_plan(found, stores, allowed=())
    bare = msgspec.structs.replace(found, needs=())
    with pytest.raises(NotAllowedError):
        apply_plan(bare, stores, allowed=())
    apply_plan(found, stores, allowed={WORD})
    last = ledger.outputs[-1]
    assert isinstance(last, ExchangeOutput)
    assert (last.generation, last.kept, last.rows) == (2, "holdfast.kept_1", 14)


def test_rows_that_cannot_be_told_apart_stop_an_undo_before_it(tmp_path: Path) -> None:
    plan, ledger = reset(tmp_path, row(tmp_path, 1, 1)), Ledger(row(tmp_path, 1, 1))
    stores = OneLedger(ledger)
    apply_plan(plan, stores, allowed={WORD})
    ledger.written = Since(unclear="they look alike")
    found = undo(plan, stores)
    assert isinstance(found, NoPlan)
    assert "they look alike" in found.reason


@pytest.mark.parametrize(
    ("sink", "output"),
    [
        ({}, ExchangeOutput),
        ({"keys": ("id",), "sequence_by": "at"}, KeepOutput),
        ({"keys": ("id",)}, None),
    ],
    ids=["appended", "merged by order", "merged by arrival"],
)
def test_rows_that_a_reset_kept_and_that_came_since(
    tmp_path: Path, sink: dict[str, object], output: type | None
) -> None:
    plan, ledger = keeping(tmp_path, **sink), Ledger(row(tmp_path, 1, 1))
    stores = OneLedger(ledger)
    apply_plan(plan, stores, allowed=())
    run_on(ledger, 0)
    ledger.written = Since(own_rows=2)
    found = undo(plan, stores)
    if output is None:
        assert isinstance(found, NoPlan)
        assert "has written over rows" in found.reason
        return
    assert isinstance(found, Plan)
    step = next(each for each in found.steps if isinstance(each, SettleSink))
    assert isinstance(step.output, output)


@pytest.mark.parametrize("batch", [1, 2], ids=["as it was", "a paused driver brought one more"])
def test_a_sink_that_the_plan_did_not_come_to_follows_its_generation(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ledger = keeping(tmp_path), Ledger(row(tmp_path, 1, 1))
    stores = OneLedger(ledger)

    def die(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "settle", die)
        with dying(), pytest.raises(KeyboardInterrupt):
            apply_plan(plan, stores, allowed=())
    if batch != 1:
        run_on(ledger, batch)
        with pytest.raises(DriftedPlanError, match="stands at batch 2"):
            continue_plan(plan, stores)
    found = undo(plan, stores)
    assert isinstance(found, Plan)
    apply_plan(found, stores, allowed=())
    record = Stores().at(f"{tmp_path}/_holdfast/{STREAM}")
    assert isinstance(ledger.row, LedgerRow)
    assert (ledger.row.generation, ledger.row.last_batch) == (newest_generation(record), batch)
    assert ledger.row.binding.checkpoint == str(tmp_path / STREAM)
    assert unfinished_repairs(record) == ()


def test_an_undo_that_was_cut_short_is_taken_back_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ledger = reset(tmp_path, row(tmp_path, 1, 1)), Ledger(row(tmp_path, 1, 1))
    stores = OneLedger(ledger)
    apply_plan(plan, stores, allowed={WORD})
    back = undo(plan, stores)
    assert isinstance(back, Plan)

    def die(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "settle", die)
        with dying(), pytest.raises(KeyboardInterrupt):
            apply_plan(back, stores, allowed=())
    again = undo(back, stores)
    assert isinstance(again, Plan)
    apply_plan(again, stores, allowed=again.words)
    record = Stores().at(f"{tmp_path}/_holdfast/{STREAM}")
    assert isinstance(ledger.row, LedgerRow)
    assert ledger.row.generation == newest_generation(record)
    assert ledger.row.binding.checkpoint == str(tmp_path / f"{STREAM}.g2")


def test_a_sink_that_would_refuse_its_step_closes_the_plan_before_the_first(
    tmp_path: Path,
) -> None:
    plan, ledger = reset(tmp_path, row(tmp_path, 1, 1)), Ledger(row(tmp_path, 1, 1))
    stores, before = OneLedger(ledger), look(tmp_path)
    ledger.obstacle = "kid refers to it by a foreign key."
    rehearsal = RehearsalStores()
    rehearsal.ledger = stores.ledger  # type: ignore[method-assign]
    with pytest.raises(PlanBlockedError, match="kid refers to it"):
        rehearse(plan, rehearsal)
    with pytest.raises(PlanBlockedError, match="kid refers to it"):
        apply_plan(plan, stores, allowed={WORD})
    assert look(tmp_path) == before
    assert ledger.outputs == []
    record = Stores().at(f"{tmp_path}/_holdfast/{STREAM}")
    assert unfinished_repairs(record) == ()
    found = undo(plan, stores)
    assert isinstance(found, NoPlan)
    assert found.is_fine


def test_a_batch_that_comes_in_before_the_fence_closes_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, ledger = reset(tmp_path, row(tmp_path, 1, 1)), Ledger(row(tmp_path, 1, 1))
    stores, before = OneLedger(ledger), look(tmp_path)
    fence = ledger.fence

    def slip_in(found: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow:
        late = replace(found, last_batch=BatchId(2), digest="late")
        return fence(late, epoch=epoch, nonce=nonce)

    monkeypatch.setattr(ledger, "fence", slip_in)
    with pytest.raises(StalePlanError, match="stands at batch 2, and stood at batch 1"):
        apply_plan(plan, stores, allowed={WORD})
    assert look(tmp_path) == before
    assert isinstance(ledger.row, LedgerRow)
    assert (ledger.row.last_batch, ledger.outputs) == (2, [])


def test_a_row_that_is_not_the_planned_one_is_not_replaced(tmp_path: Path) -> None:
    """The step reads the row again; what it finds must be what the plan was made for."""
    plan, ledger = reset(tmp_path, row(tmp_path, 1, 1)), Ledger(row(tmp_path, 1, 1))
    stores, seen = OneLedger(ledger), []
    read = ledger.read

    def read_later(stream: str) -> object:
        seen.append(stream)
        found = read(stream)
        settles = len(seen) > 6  # the looks before have found it as planned
        return replace(found, last_batch=BatchId(9)) if settles else found  # type: ignore[type-var]

    ledger.read = read_later  # type: ignore[method-assign, assignment]
    with pytest.raises(Exception, match=r"batch 9|another driver writes"):
        apply_plan(plan, stores, allowed={WORD})
    assert ledger.outputs == []
