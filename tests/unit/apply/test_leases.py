"""A plan is applied by whoever holds the lease, and by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast import points
from holdfast.apply import leases
from holdfast.apply.apply import continue_plan
from holdfast.apply.errors import InterruptedPlanError, StreamRunsError
from holdfast.apply.stores import Stores
from holdfast.record.leases import TERM_S, LeaseHeldError, take_lease
from holdfast.record.owner import this_process
from tests.unit.apply.plans import STREAM, apply, four_steps, look, make_root, plan_of
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
                held[0]._keeper.join(0.01)

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
