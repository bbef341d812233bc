"""Plans that would lose or repeat rows say so, ask for it, or are not made."""

from __future__ import annotations

import dataclasses
import json

import pytest
from msgspec.structs import replace

from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import DiscardTree, PutFile, is_generation
from holdfast.record.input_files import InputFile, keep_input_files
from tests.unit.plan.streams_on_disk import NEW, OnDisk, disk, end

__all__ = ["disk"]
STREAM = "readings"


def test_a_checkpoint_that_an_undone_generation_used_is_not_old(disk: OnDisk) -> None:
    home = str(disk.root / STREAM)
    lives = (
        disk.life(STREAM),
        disk.life(STREAM, 2, why="reset"),
        disk.life(STREAM, 3, why="undone", checkpoint=home),
        disk.life(STREAM, 4, why="reset", opened_at=NEW),
    )
    disk.add(STREAM, {"s": 1}, lives=lives)
    for name in (STREAM, f"{STREAM}.g2", f"{STREAM}.g4"):
        disk.checkpoint(name, 1)
    plan = disk.plan(STREAM, goal="prune", days=30)
    assert isinstance(plan, Plan)
    assert [each.place for each in plan.steps if isinstance(each, DiscardTree)] == [f"{home}.g2"]
    (kept,) = plan.afterwards
    assert kept.startswith("Drop the tables holdfast.kept_… with old rows of s.")


def test_a_root_that_was_adopted_is_never_pruned(disk: OnDisk) -> None:
    """What is below it now is the record, and the checkpoint in use."""
    lives = (
        disk.life(STREAM, why="adopted", checkpoint=str(disk.root)),
        disk.life(STREAM, 2, why="reset"),
    )
    disk.add(STREAM, {"s": 1}, lives=lives)
    disk.checkpoint("", 1)
    disk.checkpoint(f"{STREAM}.g2", 1)
    found = disk.plan(STREAM, goal="prune", days=30)
    assert isinstance(found, NoPlan)


@pytest.mark.parametrize("keys", [(), ("id",)])
@pytest.mark.parametrize("held", [1, 2, 5])
def test_a_snapshot_of_before_a_reset_is_not_restored(
    held: int, keys: tuple[str, ...], disk: OnDisk
) -> None:
    """Batch 2 of the new generation is another batch: its rows would count as the snapshot's."""
    lives = (disk.life(STREAM), disk.life(STREAM, 2, why="reset"))
    disk.add(STREAM, {"s": held}, lives=lives, keys=keys)
    disk.sinks[STREAM, "s"] = replace(disk.sinks[STREAM, "s"], versions={2: "7"})
    disk.checkpoint(f"{STREAM}.g2", held, query=2)
    disk.checkpoint(f"_holdfast/{STREAM}/snapshots/before", 2)
    found = disk.plan(STREAM, goal="restore", target="before")
    assert isinstance(found, NoPlan)
    assert "is of an earlier generation" in found.reason


def test_a_snapshot_is_restored_after_a_rewind_to_a_later_batch(disk: OnDisk) -> None:
    lives = (disk.life(STREAM), disk.life(STREAM, 2, why="rewound", first_batch=4))
    disk.add(STREAM, {"s": 5}, lives=lives, keys=("id",))
    disk.checkpoint(f"{STREAM}.g2", 5, query=2)
    disk.checkpoint(f"_holdfast/{STREAM}/snapshots/before", 2)
    assert isinstance(disk.plan(STREAM, goal="restore", target="before"), Plan)


def test_a_sink_that_is_behind_is_not_said_to_hold_more(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 1}, keys=("id",))
    disk.checkpoint(STREAM, 4)
    found = disk.plan(STREAM, goal="rewind", batch=3, output="restore")
    assert isinstance(found, NoPlan)
    assert "up to 1 only" in found.reason


def test_sinks_that_are_apart_get_rows_again_from_here(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 5, "b": 4})
    disk.checkpoint(STREAM, 5)
    asked = {"goal": "reset", "start": "here", "output": "keep-from-here"}
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert f"repeats-data:{STREAM}" in plan.words
    assert "nothing is read again" not in plan.impact[0].position
    disk.add(STREAM, {"a": 4, "b": 4})
    even = disk.plan(STREAM, **asked)
    assert isinstance(even, Plan)
    assert even.words == ()


@pytest.mark.parametrize(
    "asked",
    [
        {"goal": "reset", "start": '{"topic":{"0":4}}', "output": "keep-from-here"},
        {
            "goal": "migrate",
            "target": '{"topic":"topic","partition":0,"upstreamOffset":4,"downstreamOffset":9}',
        },
    ],
    ids=["offsets", "migrate"],
)
def test_the_sink_that_is_ahead_gets_rows_again_only_if_allowed(
    asked: dict[str, object], disk: OnDisk
) -> None:
    """A position is counted from the sink that is furthest behind."""
    disk.add(STREAM, {"a": 5, "b": 4})
    disk.checkpoint(STREAM, 5)
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert plan.words == (f"repeats-data:{STREAM}",)
    assert "ahead of another" in plan.impact[0].changes[-1].what
    disk.add(STREAM, {"a": 4, "b": 4})
    even = disk.plan(STREAM, **asked)
    assert isinstance(even, Plan)
    assert even.words == ()


def test_a_sink_that_holds_the_first_batch_alone_is_not_nothing(disk: OnDisk) -> None:
    """The new generation would begin wherever the options of the source say: `latest`."""
    disk.add(STREAM, {"a": 0, "b": -1})
    disk.checkpoint(STREAM, 0)
    for start in ("here", "earliest"):
        found = disk.plan(STREAM, goal="reset", start=start, output="keep-from-here")
        assert isinstance(found, NoPlan), start


def test_rows_of_another_stream_in_the_same_table_are_not_taken_away(disk: OnDisk) -> None:
    for stream in (STREAM, "others"):
        disk.add(stream, {"s": 1})
        disk.checkpoint(stream, 1)
    asked = {"goal": "reset", "start": "here"}
    found = disk.plan(STREAM, output="truncate", **asked)
    assert isinstance(found, NoPlan)
    assert "others write to a table" in found.reason
    assert isinstance(disk.plan(STREAM, output="keep-from-here", **asked), Plan)
    kept = disk.plan(STREAM, output="truncate", outputs={f"{STREAM}/s": "keep-from-here"}, **asked)
    assert isinstance(kept, Plan)


@pytest.mark.parametrize(
    "asked",
    [{"goal": "rewind", "batch": 0, "output": "keep"}, {"goal": "replay", "output": "keep"}],
)
def test_a_sink_without_a_ledger_gets_batches_again_only_if_allowed(
    asked: dict[str, object], disk: OnDisk
) -> None:
    disk.add(STREAM, {"s": 1}, unseen=("function",), keys=("id",))
    disk.checkpoint(STREAM, 1)
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert plan.words == (f"repeats-data:{STREAM}",)
    disk.add(STREAM, {}, unseen=("function",))
    alone = disk.plan(STREAM, **asked)
    assert isinstance(alone, Plan)
    assert alone.words == (f"repeats-data:{STREAM}",)


@pytest.mark.parametrize("asked", [{"goal": "retire"}, {"goal": "rewind", "batch": 0}])
def test_a_sink_that_cannot_be_read_is_not_left_out(asked: dict[str, object], disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 1}, keys=("id",))
    disk.checkpoint(STREAM, 1)
    now = disk.sinks[STREAM, "s"]
    disk.sinks[STREAM, "s"] = replace(now, row=None, unreadable="it is down")
    found = disk.plan(STREAM, **asked)
    assert isinstance(found, NoPlan)
    assert "it is down" in found.reason


def test_rows_that_say_different_things_of_one_batch_are_no_ground(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 3, "b": 3})
    now = disk.sinks[STREAM, "b"]
    assert now.row is not None
    disk.sinks[STREAM, "b"] = replace(now, row=dataclasses.replace(now.row, end_offsets=end(9)))
    found = disk.plan(STREAM, goal="resume")
    assert isinstance(found, NoPlan)
    assert "different offsets" in found.reason


@pytest.mark.parametrize("asked", [{"goal": "resume"}, {"goal": "reset", "start": "here"}])
def test_a_source_that_has_given_nothing_yet_keeps_its_line(
    asked: dict[str, object], disk: OnDisk
) -> None:
    """Spark refuses an entry with fewer lines than the query has sources."""
    disk.add(STREAM, {"a": 3}, sources=2)
    plan = disk.plan(STREAM, output="keep-from-here", **asked)
    assert isinstance(plan, Plan)
    entries = [
        step.content
        for step in plan.steps
        if isinstance(step, PutFile) and step.path.startswith("offsets/")
    ]
    assert entries
    for each in entries:
        assert each.split("\n")[2:] == ['{"topic":{"0":3}}', "-"]


def test_a_log_of_a_file_source_with_a_gap_is_written_again(disk: OnDisk) -> None:
    """Spark reads it as a whole, and fails at the gap."""
    disk.add(STREAM, {"a": 2})
    now = disk.sinks[STREAM, "a"]
    assert now.row is not None
    row = dataclasses.replace(now.row, end_offsets='{"0":{"logOffset":2}}')
    disk.sinks[STREAM, "a"] = replace(now, row=row)
    for batch in range(3):
        files = {"0": [InputFile(batch, 1, f"/in/{batch}")]}
        keep_input_files(disk.record(STREAM), files, generation=1, batch=batch)
    log = disk.root / STREAM / "sources/0"
    log.mkdir(parents=True)
    (log / "2").write_text('v1\n{"path":"/in/2","timestamp":1,"batchId":2}')
    plan = disk.plan(STREAM, goal="resume")
    assert isinstance(plan, Plan)
    put = {step.path for step in plan.steps if isinstance(step, PutFile)}
    assert {f"sources/0/{number}" for number in range(3)} <= put


def test_a_stream_whose_record_is_broken_may_read_the_output(disk: OnDisk) -> None:
    for stream in (STREAM, "others"):
        disk.add(stream, {stream: 1})
        disk.checkpoint(stream, 1)
    for path in (disk.root / "_holdfast/others/contracts").iterdir():
        path.write_text("{")
    asked = {"goal": "reset", "start": "here"}
    found = disk.plan(STREAM, output="truncate", **asked)
    assert isinstance(found, NoPlan)
    assert "Whether others reads what readings writes is not known" in found.reason
    assert isinstance(disk.plan(STREAM, output="keep-from-here", **asked), Plan)


def test_an_output_for_a_sink_that_is_not_there_is_refused(disk: OnDisk) -> None:
    """Else the sink that was meant would be emptied."""
    disk.add(STREAM, {"s": 1})
    disk.checkpoint(STREAM, 1)
    outputs = {f"{STREAM}/S": "keep-from-here"}
    found = disk.plan(STREAM, goal="reset", start="here", output="truncate", outputs=outputs)
    assert isinstance(found, NoPlan)
    assert f"There is no sink {STREAM}/S; these are: {STREAM}/s." in found.reason


def test_one_sink_that_is_emptied_is_enough_for_those_that_read_it(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 1, "t": 1})
    disk.checkpoint(STREAM, 1)
    disk.add("below", {"u": 1}, reads="postgresql://h/d#s")
    asked = {"goal": "reset", "start": "here", "output": "keep-from-here"}
    assert isinstance(disk.plan(STREAM, **asked), Plan)
    found = disk.plan(STREAM, outputs={f"{STREAM}/s": "truncate"}, **asked)
    assert isinstance(found, NoPlan)
    assert "below read what readings writes" in found.reason


def test_an_undone_generation_knows_the_files_that_were_read_before_it(disk: OnDisk) -> None:
    first = disk.life(STREAM)
    undone = disk.life(
        STREAM, 3, why="undone", checkpoint=first.checkpoint, query_id=first.query_id
    )
    disk.add(STREAM, {"a": 2}, lives=(first, disk.life(STREAM, 2, why="reset"), undone))
    now = disk.sinks[STREAM, "a"]
    assert now.row is not None
    row = dataclasses.replace(now.row, end_offsets='{"0":{"logOffset":2}}')
    disk.sinks[STREAM, "a"] = replace(now, row=row)
    for batch, generation, path in (
        (0, 1, "a"),
        (1, 1, "b"),
        (1, 3, "c"),
        (2, 3, "d"),
        (0, 2, "e"),
    ):
        files = {"0": [InputFile(batch, 1, path)]}
        keep_input_files(disk.record(STREAM), files, generation=generation, batch=batch)
    plan = disk.plan(STREAM, goal="resume")
    assert isinstance(plan, Plan)
    put = {step.path: step.content for step in plan.steps if isinstance(step, PutFile)}
    paths = [put[f"sources/0/{number}"].split('"path":"')[1][0] for number in range(3)]
    assert paths == ["a", "c", "d"]


def test_a_rewound_generation_knows_the_files_of_the_one_before_it(disk: OnDisk) -> None:
    """Its log goes on with a copy: what was read after the batch that it went back to is not it."""
    lives = (disk.life(STREAM), disk.life(STREAM, 2, why="rewound", first_batch=2))
    disk.add(STREAM, {"a": 2}, lives=lives)
    now = disk.sinks[STREAM, "a"]
    assert now.row is not None
    row = dataclasses.replace(now.row, end_offsets='{"0":{"logOffset":2}}')
    disk.sinks[STREAM, "a"] = replace(now, row=row)
    for batch, generation, path in (
        (0, 1, "a"),
        (1, 1, "b"),
        (2, 1, "x"),
        (3, 1, "y"),
        (2, 2, "c"),
    ):
        files = {"0": [InputFile(batch, 1, path)]}
        keep_input_files(disk.record(STREAM), files, generation=generation, batch=batch)
    plan = disk.plan(STREAM, goal="resume")
    assert isinstance(plan, Plan)
    put = {step.path: step.content for step in plan.steps if isinstance(step, PutFile)}
    paths = [put[f"sources/0/{number}"].split('"path":"')[1][0] for number in range(3)]
    assert paths == ["a", "b", "c"]


def test_a_sink_without_its_ledger_row_may_hold_the_batch_that_was_planned_last(
    disk: OnDisk,
) -> None:
    asked: dict[str, object] = {"goal": "reset", "start": "here", "output": "keep-from-here"}
    disk.add(STREAM, {"s": None})
    disk.checkpoint(STREAM, 2)
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert plan.words == ()
    (opened,) = (step for step in plan.steps if is_generation(step))
    assert isinstance(opened, PutFile)
    assert json.loads(opened.content)["kept"] == {"s": end(2)}
    (disk.root / STREAM / "commits/2").unlink()
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert plan.words == (f"repeats-data:{STREAM}",)
    disk.add(STREAM, {"s": 2})  # its row says that it holds the batch
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert plan.words == ()
