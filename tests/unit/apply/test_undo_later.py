"""A plan is taken back only while that gives back what was there before it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import InterruptedPlanError, StalePlanError
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, Output
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Since, Unreadable
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.preconditions import FileIs
from holdfast.plan.requests import Request
from holdfast.plan.steps import (
    DiscardTree,
    Permission,
    PutFile,
    RowValue,
    SettleSink,
    digest_of,
    ledger_row,
)
from holdfast.record.contracts import SinkContract
from holdfast.record.generations import RESET, RETIRED
from holdfast.record.repairs import unfinished_repairs
from tests.unit.apply.plans import (
    FILES,
    STREAM,
    apply,
    four_steps,
    journal_of,
    kill_at,
    look,
    make_root,
    plan_of,
)
from tests.unit.apply.test_undo import ID, copying, opening

SINK = SinkContract(kind="delta", place="/tables/readings", label="readings")
NEED = Need(permission=Permission.DESTRUCTIVE, stream=STREAM, why="w")
LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


def row(root: Path, generation: int, batch: int) -> RowValue:
    name = STREAM if generation == 1 else f"{STREAM}.g{generation}"
    return RowValue(
        sink="readings",
        generation=generation,
        epoch=0,
        nonce="",
        query_id=ID,
        checkpoint=str(root / name),
        last_batch=batch,
        digest=None,
        end_offsets="{}",
    )


class Ledger:
    """A sink in memory: its row, and what became of its rows."""

    keeps_versions = False
    tells_own_rows = True

    def __init__(self, found: RowValue | Unreadable | None) -> None:
        self.row = ledger_row(STREAM, found) if isinstance(found, RowValue) else found
        self.outputs: list[Output] = []
        self.written = Since(own_rows=0)
        self.obstacle: str | None = None

    def read(self, _: str) -> LedgerRow | Unreadable | None:
        return self.row

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        del seen
        assert old == self.row
        self.row = new
        self.outputs.append(output)
        return True

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow:
        self.row = replace(row, epoch=epoch, nonce=nonce)
        return self.row

    def hold(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow:
        return self.fence(row, epoch=epoch, nonce=nonce)

    def table_version(self, _: str) -> None:
        return None

    def has_changed(self, _: str, seen: str | None) -> bool:
        return seen is not None

    def since(self, _: str, *, generation: int) -> Since:
        del generation
        return self.written

    def find_obstacle(self, _: LedgerRow, output: Output) -> str | None:
        del output
        return self.obstacle

    def close(self) -> None:
        pass


class OneLedger(Stores):
    """Stores whose only sink is in memory."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self.only: Any = ledger

    def ledger(self, sink: SinkContract, *, writes: bool) -> Any:
        del sink, writes
        return self.only


def first_generation(root: Path) -> None:
    make_root(root)
    first = opening(root, STREAM, 1, why="opened")
    path = root / "_holdfast" / STREAM / first.path
    path.parent.mkdir(parents=True)
    path.write_text(first.content)


def reset(root: Path, old: RowValue | None) -> Plan:
    first_generation(root)
    target = str(root / f"{STREAM}.g2")
    return plan_of(
        root,
        PutFile(stream=STREAM, place=target, path="metadata", content="{}", why="w"),
        opening(root, STREAM, 2, why=RESET),
        SettleSink(
            stream=STREAM,
            sink=SINK,
            old=old,
            new=row(root, 2, -1),
            output=EmptyOutput(kept="holdfast.kept_1"),
            why="w",
        ),
        goal="reset",
        preconditions=(
            FileIs(
                stream=STREAM,
                place=str(root / STREAM),
                path="commits/1",
                sha256=digest_of(FILES["commits/1"]),
            ),
        ),
    )


def applied(plan: Plan, ledger: Ledger) -> Stores:
    stores = OneLedger(ledger)
    apply_plan(plan, stores, allowed={f"destructive:{STREAM}"})
    return stores


def undo(plan: Plan, stores: Stores) -> Plan | NoPlan:
    return plan_undo(str(journal_of(plan).location), stores)


def test_a_reset_whose_checkpoint_was_pruned_is_not_taken_back(tmp_path: Path) -> None:
    plan = reset(tmp_path, row(tmp_path, 1, 1))
    stores = applied(plan, Ledger(row(tmp_path, 1, 1)))
    shutil.rmtree(tmp_path / STREAM)
    found = undo(plan, stores)
    assert isinstance(found, NoPlan)
    assert f"{STREAM}/commits/1 is gone" in found.reason


@pytest.mark.parametrize("moved", ["root", "generation", "unreadable", "gone"])
def test_a_sink_that_another_plan_has_changed_since_is_left_alone(
    moved: str, tmp_path: Path
) -> None:
    plan = reset(tmp_path, row(tmp_path, 1, 1))
    ledger = Ledger(row(tmp_path, 1, 1))
    stores = applied(plan, ledger)
    rows: dict[str, RowValue | Unreadable | None] = {
        "root": row(tmp_path / "new", 2, 7),
        "generation": row(tmp_path, 3, 7),
        "unreadable": Unreadable("the database is down"),
        "gone": None,
    }
    ledger.row = Ledger(rows[moved]).row
    assert isinstance(undo(plan, stores), NoPlan)


def test_a_reset_is_taken_back_after_its_stream_has_run(tmp_path: Path) -> None:
    plan = reset(tmp_path, row(tmp_path, 1, 1))
    ledger = Ledger(row(tmp_path, 1, 1))
    stores = applied(plan, ledger)
    ledger.row = Ledger(row(tmp_path, 2, 7)).row
    found = undo(plan, stores)
    assert isinstance(found, Plan)
    apply_plan(found, stores, allowed=())
    assert isinstance(ledger.row, LedgerRow)
    assert (ledger.row.generation, ledger.row.last_batch) == (3, 1)


def test_a_sink_that_had_no_row_gets_its_rows_back(tmp_path: Path) -> None:
    plan = reset(tmp_path, None)
    ledger = Ledger(None)
    stores = applied(plan, ledger)
    found = undo(plan, stores)
    assert isinstance(found, Plan)
    apply_plan(found, stores, allowed=())
    assert isinstance(ledger.outputs[-1], ExchangeOutput)
    assert ledger.outputs[-1].kept == "holdfast.kept_1"
    assert isinstance(ledger.row, LedgerRow)
    assert (ledger.row.generation, ledger.row.last_batch) == (3, -1)
    assert ledger.row.binding.checkpoint == str(tmp_path / STREAM)


def test_a_retired_checkpoint_that_is_half_deleted_is_not_gone_back_to(tmp_path: Path) -> None:
    first_generation(tmp_path)
    archive = tmp_path / "_holdfast" / STREAM / "snapshots/retired"
    place = str(tmp_path / STREAM)
    plan = plan_of(
        tmp_path,
        opening(tmp_path, STREAM, 2, why=RETIRED),
        copying(tmp_path, archive),
        DiscardTree(
            stream=STREAM,
            place=place,
            files=len(FILES),
            fingerprint=copying(tmp_path, archive).fingerprint,
            why="w",
        ),
        goal="retire",
    )
    plan = msgspec.structs.replace(plan, needs=(NEED,))
    assert kill_at(14, plan)
    (tmp_path / STREAM / "commits/0").unlink()  # killed within the last step
    found = undo(plan, Stores())
    assert isinstance(found, NoPlan)
    assert "deletes files for good" in found.reason
    continue_plan(plan, Stores())
    assert len(look(archive)) == len(FILES)


def test_a_resume_is_not_taken_back_from_a_query_that_has_run_since(tmp_path: Path) -> None:
    home = tmp_path / "root/readings"
    for log in ("offsets", "commits"):
        (home / log).mkdir(parents=True)
    (home / "metadata").write_text(f'{{"id":"{ID}"}}')
    for batch in (0, 2, 3):
        entry = f'v1\n{LINE}\n{{"topic":{{"0":{batch}}}}}'
        (home / f"offsets/{batch}").write_text(entry)
        (home / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
    (home / "offsets/2").unlink()  # Spark asks for it
    plan = make_plan(Request(goal="resume"), DiagnoseRequest(location=str(home)))
    assert isinstance(plan, Plan)
    apply(plan)
    (home / "offsets/4").write_text(f'v1\n{LINE}\n{{"topic":{{"0":4}}}}')  # it runs on
    before = look(home)
    found = undo(plan, Stores())
    assert isinstance(found, NoPlan)
    assert "The stream has run since" in found.reason
    assert look(home) == before


def test_an_undo_that_did_nothing_has_taken_nothing_back(tmp_path: Path) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    before = look(tmp_path)
    journal = apply(plan)
    back = plan_undo(journal, Stores())
    assert isinstance(back, Plan)
    assert kill_at(4, back)  # it is marked, and no step was begun
    file = tmp_path / STREAM / "offsets/2"
    left = file.read_bytes()
    file.write_text("another writer's")
    with pytest.raises(StalePlanError):
        continue_plan(back, Stores())
    file.write_bytes(left)
    again = plan_undo(journal, Stores())
    assert isinstance(again, Plan), again
    apply(again)
    assert look(tmp_path) == before


def test_an_undo_that_cannot_go_on_is_taken_back_and_the_plan_goes_on(tmp_path: Path) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    assert kill_at(16, plan)
    kept = tmp_path / "_holdfast" / STREAM / "journal" / plan.id / "kept/0001"
    back = undo(plan, Stores())
    assert isinstance(back, Plan)
    moved = kept.rename(kept.with_name("elsewhere"))
    with pytest.raises(InterruptedPlanError):
        apply(back)
    again = undo(back, Stores())
    assert isinstance(again, Plan)
    apply(again)
    continue_plan(plan, Stores())
    assert unfinished_repairs(Stores().at(f"{tmp_path}/_holdfast/{STREAM}")) == ()
    assert (tmp_path / STREAM / "offsets/2").read_text() == "v1\n{}\n2"
    assert not (tmp_path / STREAM / "commits/1").exists()
    assert moved.exists()
    assert msgspec.json.decode((kept.parent.parent / "ended.json").read_bytes())["how"] == "applied"
