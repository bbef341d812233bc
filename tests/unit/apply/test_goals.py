"""Every goal from plan to undo, on disk, with a ledger in memory."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from holdfast.apply.apply import apply_plan
from holdfast.apply.errors import InterruptedPlanError, StalePlanError, StreamRunsError
from holdfast.apply.rehearse import rehearse
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.apply.undo import plan_undo
from holdfast.errors import ConfigError, ReadError
from holdfast.ids import BatchId
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput
from holdfast.ledger.row import LedgerRow
from holdfast.plan import world
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.record.generations import current_generation
from holdfast.record.leases import LeaseHeldError, release, take_lease
from holdfast.record.owner import this_process
from holdfast.sinks.kinds import sink_of
from holdfast.storage.open import open_reader
from holdfast.storage.write import open_writer
from tests.docs.repair_root import NEWEST, STREAM, make_root
from tests.stand_ins import stand_in
from tests.unit.apply.memory_ledger import MemoryLedger


@dataclass(frozen=True, slots=True)
class Bench:
    home: Path
    ledger: MemoryLedger
    at: str = "streams"

    @property
    def root(self) -> Path:
        return self.home / self.at

    def plan(self, request: Request) -> Plan | NoPlan:
        return make_plan(request, DiagnoseRequest(location=STREAM, root=str(self.root), probe=True))

    def planned(self, request: Request) -> Plan:
        found = self.plan(request)
        assert isinstance(found, Plan), found
        return found

    def apply(self, plan: Plan) -> str:
        return apply_plan(plan, Stores(session=stand_in(object)), allowed=plan.words)

    def generation(self) -> int:
        found = current_generation(open_reader(str(self.root / "_holdfast" / STREAM)))
        assert found is not None
        return found.number

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and "_holdfast" not in path.parts
        }


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    make_root(tmp_path)
    looks = DiagnoseRequest(location=STREAM, root=str(tmp_path / "streams"))
    (sink,) = world.look_at_stream(looks).sinks
    spec = sink_of(sink.contract)
    assert spec is not None
    opened = spec.open_ledger()
    assert opened is not None
    row = opened.read(STREAM)
    assert isinstance(row, LedgerRow)
    ledger = MemoryLedger(row)
    monkeypatch.setattr(type(spec), "open_ledger", lambda *_, **__: ledger)
    return Bench(tmp_path, ledger)


def bare(row: LedgerRow) -> LedgerRow:
    return replace(row, epoch=0, nonce="", generation=0)


def delete(bench: Bench) -> None:
    shutil.rmtree(bench.root / STREAM)


def nothing(bench: Bench) -> None:
    del bench


GOALS: dict[str, tuple[Request, Callable[[Bench], None]]] = {
    "resume": (Request(goal="resume"), delete),
    "replay": (Request(goal="replay", output="restore"), nothing),
    "replay-three": (Request(goal="replay", batches=3, output="restore"), nothing),
    "reset": (Request(goal="reset", start="earliest", output="truncate"), nothing),
    "reset-here": (Request(goal="reset", start="here", output="keep-from-here"), nothing),
    "new-table": (Request(goal="reset", start="earliest", output="new-table"), nothing),
    "rewind": (Request(goal="rewind", batch=5, output="restore"), nothing),
    "rewind-keep": (Request(goal="rewind", batch=5, output="keep"), nothing),
    "snapshot": (Request(goal="snapshot", target="before"), nothing),
    "clone": (Request(goal="clone", target="readings-two"), nothing),
}


@pytest.mark.parametrize("name", GOALS)
def test_a_plan_is_rehearsed_applied_and_taken_back(bench: Bench, name: str) -> None:
    request, damage = GOALS[name]
    damage(bench)
    before, row = bench.files(), bench.ledger.row
    plan = bench.planned(request)
    rehearsal = rehearse(plan, RehearsalStores())
    assert bench.files() == before
    assert rehearsal.changes or rehearsal.not_rehearsed
    journal = bench.apply(plan)
    assert bench.files() != before or name == "snapshot"
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan), undo
    bench.apply(undo)
    assert bench.files() == before
    assert bare(bench.ledger.row) == bare(row)


def test_a_next_start_that_cannot_be_looked_at_is_said_and_not_dropped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: object) -> None:
        raise ReadError("offsets/7", why="the store does not answer", how="Try again.")

    delete(bench)
    plan = bench.planned(Request(goal="resume"))
    seen = len(rehearse(plan, RehearsalStores()).next_starts)
    monkeypatch.setattr("holdfast.apply.rehearse.collect", unreadable)
    found = rehearse(plan, RehearsalStores())
    said = [each for each in found.not_rehearsed if "is not known: the store does not" in each]
    assert (len(found.next_starts), len(said)) == (0, seen)
    assert seen


def test_a_deleted_checkpoint_goes_on_where_the_sink_ends(bench: Bench) -> None:
    delete(bench)
    bench.apply(bench.planned(Request(goal="resume")))
    there = bench.files()
    assert f"{STREAM}/commits/{NEWEST}" in there
    assert {f"{STREAM}/sources/0/9.compact", f"{STREAM}/sources/0/11"} <= set(there)
    assert bench.ledger.settled == [KeepOutput()]
    again = bench.plan(Request(goal="resume"))
    assert isinstance(again, NoPlan)
    assert again.is_fine


def test_several_batches_are_run_again_as_one_of_their_range(bench: Bench) -> None:
    old = bench.files()
    bench.apply(bench.planned(GOALS["replay-three"][0]))
    there, first = bench.files(), NEWEST - 2
    _, metadata, _ = old[f"{STREAM}/offsets/{first}"].splitlines()
    version, _, end = old[f"{STREAM}/offsets/{NEWEST}"].splitlines()
    assert there[f"{STREAM}/offsets/{first}"].splitlines() == [version, metadata, end]
    gone = {f"{STREAM}/offsets/{first + at}" for at in (1, 2)}
    gone |= {f"{STREAM}/commits/{first + at}" for at in (0, 1, 2)}
    assert set(old) - set(there) == gone
    assert bench.ledger.row.last_batch == first - 1


def test_more_batches_than_there_are_entries_for_are_not_run_again(bench: Bench) -> None:
    found = bench.plan(Request(goal="replay", batches=NEWEST + 2, output="restore"))
    assert isinstance(found, NoPlan)
    assert found.reason == f"{STREAM} has run {NEWEST + 1} batches, not {NEWEST + 2}."


def test_a_reset_opens_a_generation_and_empties_the_output(bench: Bench) -> None:
    bench.apply(bench.planned(GOALS["reset"][0]))
    assert bench.generation() == 2
    assert bench.ledger.settled == [EmptyOutput(kept="100")]
    assert (bench.ledger.row.generation, bench.ledger.row.last_batch) == (2, -1)


def test_undo_of_a_reset_opens_one_more_generation_on_the_old_checkpoint(bench: Bench) -> None:
    journal = bench.apply(bench.planned(GOALS["reset"][0]))
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan)
    bench.apply(undo)
    assert bench.generation() == 3
    assert bench.ledger.settled[-1] == ExchangeOutput(generation=2, kept="100", aside="101", rows=0)
    assert bench.ledger.row.binding.checkpoint == str(bench.root / STREAM)
    assert isinstance(bench.plan(Request(goal="resume")), NoPlan)


def test_a_table_that_a_reset_left_alone_is_taken_along_by_its_undo(bench: Bench) -> None:
    row = bench.ledger.row
    journal = bench.apply(bench.planned(GOALS["new-table"][0]))
    assert bare(bench.ledger.row) == bare(row)
    assert bench.ledger.row.epoch > row.epoch  # fenced: a driver that was paused writes no more
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan)
    bench.apply(undo)
    assert (bench.generation(), bench.ledger.row.generation) == (3, 3)
    assert bare(bench.ledger.row) == bare(row)
    again = bench.plan(Request(goal="resume"))
    assert isinstance(again, NoPlan)
    assert again.is_fine


def test_a_move_takes_the_ledger_along(bench: Bench) -> None:
    target = bench.home / "elsewhere"
    bench.apply(bench.planned(Request(goal="move", target=str(target))))
    assert bench.ledger.row.binding.checkpoint == str(target / STREAM)
    assert (target / STREAM / "metadata").exists()


def test_a_stream_that_was_moved_gets_a_deleted_checkpoint_back(bench: Bench) -> None:
    bench.apply(bench.planned(Request(goal="move", target=str(bench.home / "elsewhere"))))
    moved = dataclasses.replace(bench, at="elsewhere")
    delete(moved)
    moved.apply(moved.planned(Request(goal="resume")))
    there = moved.files()
    assert f"{STREAM}/commits/{NEWEST}" in there
    assert {f"{STREAM}/sources/0/9.compact", f"{STREAM}/sources/0/11"} <= set(there)


def test_a_stream_with_a_damaged_record_is_not_taken_for_a_bare_checkpoint(bench: Bench) -> None:
    lease = bench.root / "_holdfast" / STREAM / "leases/000001.json"
    lease.write_text('{"torn')
    before = bench.files()
    for name, (request, damage) in GOALS.items():
        if damage is nothing:
            found = bench.plan(request)
            assert isinstance(found, NoPlan), name
            assert "record of readings cannot be read" in found.reason
            assert not found.is_fine
    assert bench.files() == before


def test_a_move_is_not_taken_back_from_a_driver_in_the_new_root(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = bench.home / "elsewhere"
    journal = bench.apply(bench.planned(Request(goal="move", target=str(target))))
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan)
    record = open_writer(str(target / "_holdfast" / STREAM))
    running = take_lease(record, this_process())

    def is_alive(*_: object) -> None:
        raise LeaseHeldError(record.location, running)

    with monkeypatch.context() as patched:
        patched.setattr("holdfast.record.leases._wait_until_free", is_alive)
        with pytest.raises(StreamRunsError):
            bench.apply(undo)
    assert bench.ledger.row.binding.checkpoint == str(target / STREAM)
    release(record, running)
    bench.apply(undo)
    assert bench.ledger.row.binding.checkpoint == str(bench.root / STREAM)
    assert not (target / STREAM).exists() or not any((target / STREAM).rglob("*.json"))


def test_a_snapshot_can_be_gone_back_to(bench: Bench) -> None:
    bench.apply(bench.planned(GOALS["snapshot"][0]))
    plan = bench.planned(Request(goal="restore", target="before"))
    bench.apply(plan)
    assert bench.generation() == 2
    assert bench.ledger.row.last_batch == NEWEST
    missing = bench.plan(Request(goal="restore", target="never"))
    assert isinstance(missing, NoPlan)


def test_old_generations_are_pruned_and_never_the_current_one(bench: Bench) -> None:
    assert isinstance(bench.plan(Request(goal="prune", days=0)), NoPlan)
    bench.apply(bench.planned(GOALS["reset"][0]))
    plan = bench.planned(Request(goal="prune", days=-1))
    journal = bench.apply(plan)
    assert not (bench.root / STREAM / "metadata").exists()
    assert (bench.root / f"{STREAM}.g2/metadata").exists()
    assert isinstance(plan_undo(journal, Stores()), NoPlan)


def test_a_retired_stream_is_archived_and_fenced(bench: Bench) -> None:
    bench.apply(bench.planned(Request(goal="retire")))
    assert not (bench.root / STREAM / "metadata").exists()
    (archive,) = (bench.root / "_holdfast" / STREAM / "snapshots").iterdir()
    assert (archive / "metadata").exists()
    assert bench.ledger.row.generation == 2


def test_a_ledger_that_advances_makes_a_plan_stale(bench: Bench) -> None:
    plan = bench.planned(GOALS["reset"][0])
    bench.ledger.row = replace(bench.ledger.row, last_batch=BatchId(99), digest="late")
    with pytest.raises(StalePlanError, match="ledger row"):
        bench.apply(plan)


def test_without_the_session_that_a_sink_needs_nothing_is_changed(bench: Bench) -> None:
    plan, before = bench.planned(GOALS["reset"][0]), bench.files()
    with pytest.raises(ConfigError, match="Spark session"):
        apply_plan(plan, Stores(), allowed=plan.words)
    assert bench.files() == before
    assert bench.generation() == 1


def test_a_table_that_changes_makes_a_plan_stale(bench: Bench) -> None:
    plan = bench.planned(GOALS["reset"][0])
    bench.ledger.version += 1
    with pytest.raises(StalePlanError, match="table"):
        bench.apply(plan)


def test_a_row_that_changes_in_the_moment_stops_the_plan(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = bench.planned(GOALS["reset"][0])
    monkeypatch.setattr(MemoryLedger, "settle", lambda *_, **__: False)
    with pytest.raises(InterruptedPlanError, match="another driver writes"):
        bench.apply(plan)


def test_a_table_of_several_streams_is_neither_emptied_nor_put_back(bench: Bench) -> None:
    bench.ledger.others = ("billing",)
    for name in ("reset", "rewind", "replay"):
        found = bench.plan(GOALS[name][0])
        assert isinstance(found, NoPlan)
        assert "billing" in found.reason


def test_a_batch_that_is_not_there_cannot_be_gone_back_to(bench: Bench) -> None:
    found = bench.plan(Request(goal="rewind", batch=99, output="restore"))
    assert isinstance(found, NoPlan)
    assert "0 to 11" in found.reason
