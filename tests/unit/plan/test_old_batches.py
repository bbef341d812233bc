"""A batch that is computed again finds nothing that its earlier run has left."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import CopyTree, PutFile, RemoveFile, SettleSink
from holdfast.record.batches import JournalledBatch, find_journalled, rows_path
from holdfast.record.documents import encode
from tests.unit.plan.streams_on_disk import OnDisk, disk, end

__all__ = ["disk"]

STREAM = "readings"
STATEFUL = ("stateStoreSave",)


def materialise(disk: OnDisk, batch: int, digest: str) -> JournalledBatch:
    """Write down a batch, as a start for several sinks does."""
    rows = rows_path(1, batch, epoch=8)
    found = JournalledBatch(generation=1, batch=batch, digest=digest, rows=rows)
    disk.record(STREAM).put(f"{rows}/part-0.parquet", b"rows")
    disk.record(STREAM).put(found.path, encode(found))
    return found


def removed(plan: Plan | NoPlan) -> list[str]:
    assert isinstance(plan, Plan), plan
    return [step.path for step in plan.steps if isinstance(step, RemoveFile)]


@pytest.mark.parametrize("batches", [1, 2])
def test_a_replay_forgets_the_rows_that_were_materialised(batches: int, disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 3, "b": 3}, keys=("id",), sequence_by="at")
    disk.checkpoint(STREAM, 3)
    marks = {batch: materialise(disk, batch, f"{batch}" * 64).path for batch in (1, 2, 3)}
    plan = disk.plan(STREAM, goal="replay", batches=batches, output="restore")
    gone = [path for path in removed(plan) if path.startswith("batches/")]
    assert gone == [marks[batch] for batch in range(4 - batches, 4)]


def test_rows_of_another_generation_stay(disk: OnDisk) -> None:
    lives = (disk.life(STREAM), disk.life(STREAM, 2))
    disk.add(STREAM, {"a": 1}, lives=lives, keys=("id",))
    disk.checkpoint(f"{STREAM}.g2", 1, query=2)
    materialise(disk, 1, "1" * 64)
    plan = disk.plan(STREAM, goal="replay", output="restore")
    assert not any(path.startswith("batches/") for path in removed(plan))


def test_a_replay_takes_away_the_state_that_the_batch_has_written(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 2}, keys=("id",), operators=STATEFUL)
    disk.checkpoint(STREAM, 2)
    disk.state(STREAM, "1.delta", "2.delta", "2.snapshot", "3.delta", "3.snapshot", ".3.delta.crc")
    gone = removed(disk.plan(STREAM, goal="replay", output="restore"))
    assert sorted(path for path in gone if path.startswith("state/")) == [
        "state/0/0/.3.delta.crc",
        "state/0/0/3.delta",
        "state/0/0/3.snapshot",
    ]


def test_a_move_takes_materialised_rows_and_backfills_along(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 1, "b": 0})
    disk.checkpoint(STREAM, 1)
    materialise(disk, 1, "1" * 64)
    target = disk.root / "elsewhere"
    plan = disk.plan(STREAM, goal="move", target=str(target))
    assert isinstance(plan, Plan)
    copied = [step.target for step in plan.steps if isinstance(step, CopyTree)]
    assert f"{target}/_holdfast/{STREAM}/batches" in copied


def covered(disk: OnDisk, plan: Plan, batch: int) -> Coverage:
    """Return what a batch covers once a plan is carried out."""
    for step in plan.steps:
        if isinstance(step, PutFile) and step.place == str(disk.root / STREAM):
            path = disk.root / STREAM / step.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.content)
    found = read_coverage(disk.checkpoint_of(STREAM), BatchId(batch))
    assert isinstance(found, Coverage)
    return found


def test_a_sink_that_lacks_a_batch_gets_the_rows_that_the_other_one_holds(disk: OnDisk) -> None:
    """Both rows get the digest that their batches have now, and so do the materialised rows."""
    disk.add(STREAM, {"a": 1, "b": 0})
    for name, digest in (("a", "1" * 64), ("b", "0" * 64)):
        sink = disk.sinks[STREAM, name]
        assert sink.row is not None
        disk.sinks[STREAM, name] = replace(sink, row=dataclasses.replace(sink.row, digest=digest))
    old = materialise(disk, 1, "1" * 64)
    plan = disk.plan(STREAM, goal="resume")
    assert isinstance(plan, Plan)
    now = {batch: covered(disk, plan, batch) for batch in (0, 1)}
    rows = {s.new.sink: s.new for s in plan.steps if isinstance(s, SettleSink)}
    assert {name: row.digest for name, row in rows.items()} == {
        "a": now[1].digest,
        "b": now[0].digest,
    }
    assert {name: row.end_offsets for name, row in rows.items()} == {"a": end(1), "b": end(0)}
    (put,) = (s for s in plan.steps if isinstance(s, PutFile) and s.path.startswith("batches/"))
    disk.record(STREAM).put(put.path, put.content.encode())
    found = find_journalled(disk.record(STREAM), 1, 1, digest=now[1].digest)
    assert found is not None
    assert found.rows == old.rows
    assert old.path in removed(plan)
    assert not (disk.root / STREAM / "commits/1").exists()
    assert (disk.root / STREAM / "commits/0").exists()
