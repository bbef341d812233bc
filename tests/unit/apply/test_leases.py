"""A plan is applied by whoever holds the lease, and by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast import clock, points
from holdfast.apply import leases
from holdfast.apply.apply import continue_plan
from holdfast.apply.errors import InterruptedPlanError, StreamRunsError
from holdfast.apply.steps.sinks import SinkNotSettledError, change_sink, fence_sink
from holdfast.apply.stores import Stores
from holdfast.ledger.output import KeepOutput
from holdfast.ledger.row import LedgerRow
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import SettleSink, row_value
from holdfast.record.contracts import SinkContract
from holdfast.record.leases import TERM_S, Lease, LeaseHeldError, take_lease
from holdfast.record.owner import this_process
from holdfast.record.repairs import unfinished_repair
from tests.ledger_rows import ROW
from tests.unit.apply.memory_ledger import MemoryLedger
from tests.unit.apply.plans import FILES, STREAM, apply, four_steps, look, make_root, plan_of
from tests.unit.apply.test_kills import AFTER


def test_a_lease_that_is_lost_in_the_middle_stops_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next step is not carried out; what was done is finished with the next lease."""
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    record = Stores().at(str(tmp_path / "_holdfast" / STREAM))
    held: list[leases.Leases] = []
    enter = leases.Leases.__enter__

    def keep(taken: leases.Leases) -> leases.Leases:
        held.append(taken)
        return enter(taken)

    monkeypatch.setattr(leases, "TERM_S", 0.03)
    monkeypatch.setattr(leases.Leases, "__enter__", keep)
    seen: list[str] = []

    def lose(point: str) -> None:
        seen.append(point)
        if seen.count("A7") == 2 and not held[0]._lost:
            take_lease(record, this_process(), takeover=True)
            while not held[0]._lost:  # its heartbeat finds it
                held[0]._renewer.join(0.01)

    points.listen(lose)
    try:
        with pytest.raises(InterruptedPlanError, match="taken its lease"):
            apply(plan)
    finally:
        points.listen(None)
    between = look(tmp_path)
    assert "readings/offsets/2" not in between
    assert between["readings/offsets/1"] == AFTER["readings/offsets/1"]
    monkeypatch.setattr("holdfast.record.leases._wait_until_free", lambda *_: None)
    continue_plan(plan, Stores())
    assert look(tmp_path) == AFTER


def test_a_running_stream_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    record = Stores().at(str(tmp_path / "_holdfast" / STREAM))
    lease = take_lease(record, this_process())

    def is_alive(*_: object) -> None:
        raise LeaseHeldError(record.location, lease)

    monkeypatch.setattr("holdfast.record.leases._wait_until_free", is_alive)
    before = look(tmp_path, without=())
    with pytest.raises(StreamRunsError, match=f"{TERM_S:.0f} s") as refused:
        apply(plan)
    assert refused.value.stream == STREAM
    assert look(tmp_path, without=()) == before


def _take_over_at(point: str, root: Path, *, count: int = 1) -> None:
    """Take the lease when a plan reaches a point, as long as its process would be paused there."""
    record = Stores().at(str(root / "_holdfast" / STREAM))
    seen: list[str] = []

    def tell(reached: str) -> None:
        seen.append(reached)
        if reached == point and seen.count(point) == count:
            take_lease(record, this_process(), takeover=True)

    points.listen(tell)


@pytest.fixture
def silent() -> Iterator[None]:
    yield
    points.listen(None)


@pytest.mark.parametrize("point", ["A2", "A3", "A4", "A4-marked"])
@pytest.mark.usefixtures("silent")
def test_a_plan_that_resumes_after_a_start_took_its_lease_is_closed(
    point: str, tmp_path: Path
) -> None:
    """No heartbeat has found it yet; the mark must not block the stream that runs."""
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    before = look(tmp_path)
    _take_over_at(point, tmp_path)
    with pytest.raises(StreamRunsError, match="taken its lease"):
        apply(plan)
    assert look(tmp_path) == before
    assert unfinished_repair(Stores().at(str(tmp_path / "_holdfast" / STREAM))) is None


@pytest.mark.parametrize(("point", "count"), [("A7", 1), ("A5-before", 2)])
@pytest.mark.usefixtures("silent")
def test_a_plan_that_resumes_after_it_was_continued_elsewhere_changes_nothing_more(
    point: str, count: int, tmp_path: Path
) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    _take_over_at(point, tmp_path, count=count)
    with pytest.raises(InterruptedPlanError, match="taken its lease"):
        apply(plan)
    found = look(tmp_path)
    assert "readings/commits/1" not in found
    assert found["readings/offsets/1"] == FILES["offsets/1"].encode()


@pytest.mark.usefixtures("silent")
def test_a_plan_that_was_paused_within_a_step_looks_at_its_lease_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process can have done the step, and the stream can have run on since."""
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    record = Stores().at(str(tmp_path / "_holdfast" / STREAM))
    began = clock.monotonic()

    def tell(reached: str) -> None:
        if reached == "kept":
            take_lease(record, this_process(), takeover=True)
            monkeypatch.setattr(clock, "monotonic", lambda: began + TERM_S)

    points.listen(tell)
    before = look(tmp_path)
    with pytest.raises(InterruptedPlanError, match="taken its lease"):
        apply(plan)
    assert look(tmp_path) == before


class _FencedLedger(MemoryLedger):
    """Refuses an older epoch, as a sink does."""

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        return super().fence(row, epoch=epoch, nonce=nonce) if epoch > self.row.epoch else None


def test_a_sink_that_a_newer_driver_has_fenced_is_not_settled() -> None:
    """Its row says the same as the plan's: the driver has written no batch yet."""
    old = row_value(ROW)
    step = SettleSink(
        stream=ROW.stream,
        sink=SinkContract(kind="memory", place="memory:t", label="t"),
        old=old,
        new=old,
        output=KeepOutput(),
        why="w",
    )
    ledger = _FencedLedger(replace(ROW, epoch=9))
    lease = Lease(epoch=8, owner=this_process(), token="t" * 32, nonce="n" * 32)
    planned = LedgerIs(stream=ROW.stream, sink=step.sink, row=old, table=None)
    assert "has fenced" in (fence_sink(planned, ledger, lease) or "")
    with pytest.raises(SinkNotSettledError):
        change_sink(step, ledger, lease, seen=None)
    assert ledger.row == replace(ROW, epoch=9)
