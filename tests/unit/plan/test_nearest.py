"""Where there is no plan, the command that comes nearest gives one."""

from __future__ import annotations

import ast
import dataclasses
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from holdfast import plan
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.cli.main import holdfast
from holdfast.ids import BatchId
from holdfast.plan.goals.position import Position
from holdfast.plan.plan_file import NoPlan, Plan, decode_plan
from holdfast.plan.steps import PutFile
from holdfast.record.backfills import Backfill
from holdfast.record.documents import encode
from holdfast.record.layout import BACKFILLS
from tests.unit.plan.streams_on_disk import OLD, OnDisk, disk, end

__all__ = ["disk"]
STREAM = "readings"
STATEFUL = ("stateStoreSave",)
REPLAY: dict[str, object] = {"goal": "replay", "output": "restore"}


def shared(disk: OnDisk) -> None:
    """Let another stream write into the table."""
    sink = disk.sinks[STREAM, "s"]
    disk.sinks[STREAM, "s"] = replace(sink, others=("others",), versions={0: "1", 1: "2"})


def run(command: str, place: Path) -> Plan:
    """Run a command as it was printed."""
    out = place / "plan.json"
    words = [*shlex.split(command)[1:], "-o", str(out)]
    ran = CliRunner().invoke(holdfast, words, standalone_mode=False)
    assert ran.exception is None, ran.exception
    return decode_plan(out.read_bytes(), ran.output)


def merged(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2}, keys=("id",))
    disk.checkpoint(STREAM, 2)


def appended(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2})
    disk.checkpoint(STREAM, 2)


def with_another_stream(disk: OnDisk) -> None:
    appended(disk)
    shared(disk)


def merged_with_another_stream(disk: OnDisk) -> None:
    merged(disk)
    shared(disk)


def with_state(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2}, keys=("id",), operators=STATEFUL)
    disk.checkpoint(STREAM, 2)
    disk.state(STREAM, "1.delta", "2.delta", "3.delta")


def with_state_and_another_stream(disk: OnDisk) -> None:
    with_state(disk)
    shared(disk)


def without_commit(disk: OnDisk) -> None:
    """Lose the entry of a batch that the sink holds, and that was never committed."""
    with_state(disk)
    (disk.root / STREAM / "commits/2").unlink()
    (disk.root / STREAM / "offsets/2").write_bytes(b"")


def without_checkpoint(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2}, operators=STATEFUL)


def apart(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 2, "b": 0}, keys=("id",))
    disk.checkpoint(STREAM, 1)


def read_by_another(disk: OnDisk) -> None:
    """Let another stream read the table, with a source that reads from its beginning again."""
    disk.add(STREAM, {"s": 2}, keys=("id",))
    disk.checkpoint(STREAM, 2)
    sink = disk.sinks[STREAM, "s"]
    disk.add("others", {"o": 2}, reads=sink.contract.place)
    disk.checkpoint("others", 2)


def written_by_another(disk: OnDisk) -> None:
    """Let another stream declare the same table, which has not written to it yet."""
    appended(disk)
    disk.add("others", {"s": 0})
    disk.checkpoint("others", 0)


def differing(disk: OnDisk) -> None:
    """Let two sinks say different things of one batch."""
    disk.add(STREAM, {"a": 2, "b": 2})
    sink = disk.sinks[STREAM, "b"]
    assert sink.row is not None
    disk.sinks[STREAM, "b"] = replace(sink, row=dataclasses.replace(sink.row, end_offsets=end(9)))


def without_row(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 2, "b": None})


def without_files(disk: OnDisk) -> None:
    """Lose the log of a file source, which the record does not have either."""
    disk.add(STREAM, {"s": 2})
    sink = disk.sinks[STREAM, "s"]
    assert sink.row is not None
    ends = '{"0":{"logOffset":2}}'
    disk.sinks[STREAM, "s"] = replace(sink, row=dataclasses.replace(sink.row, end_offsets=ends))


def of_another_generation(disk: OnDisk) -> None:
    appended(disk)
    sink = disk.sinks[STREAM, "s"]
    assert sink.row is not None
    disk.sinks[STREAM, "s"] = replace(sink, row=dataclasses.replace(sink.row, generation=3))


def without_ledger(disk: OnDisk) -> None:
    """Lose the entry of a committed batch of a function, which keeps no ledger."""
    disk.add(STREAM, {}, unseen=("function",))
    disk.checkpoint(STREAM, 2)
    (disk.root / STREAM / "offsets/2").write_bytes(b"")


def first_in_one(disk: OnDisk) -> None:
    disk.add(STREAM, {"a": 0, "b": -1})
    disk.checkpoint(STREAM, 0)


def gone(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2})


REWIND: dict[str, object] = {"goal": "rewind", "batch": 1, "output": "restore"}
RESET: dict[str, object] = {"goal": "reset", "start": "earliest", "output": "truncate"}
REWIND_0: dict[str, object] = {"goal": "rewind", "batch": 0, "output": "restore"}
KEEP: dict[str, object] = {"goal": "reset", "start": "here", "output": "keep-from-here"}
RESUME: dict[str, object] = {"goal": "resume"}
SNAPSHOT: dict[str, object] = {"goal": "snapshot", "target": "before"}
MIGRATE: dict[str, object] = {"goal": "migrate", "target": ""}
Made = Callable[[OnDisk], None]
CASES: dict[str, tuple[Made, dict[str, object], str, str]] = {
    "several batches, merged": (merged, {**REPLAY, "batches": 2}, "rewind", "_refuse_as_one"),
    "all batches, merged": (merged, {**REPLAY, "batches": 3}, "reset", "_refuse_as_one"),
    "several with state": (with_state, {**REPLAY, "batches": 2}, "rewind", "_refuse_as_one"),
    "no version to go back to": (appended, REPLAY, "replay", "rollback_output"),
    "a shared table is not put back": (with_another_stream, REPLAY, "replay", "refuse_shared"),
    "nor rewound": (with_another_stream, REWIND, "rewind", "refuse_shared"),
    "nor emptied": (with_another_stream, RESET, "reset", "refuse_shared"),
    "nor emptied, merged": (merged_with_another_stream, RESET, "reset", "_with_downstream"),
    "nor, with state": (with_state_and_another_stream, RESET, "reset", "refuse_shared"),
    "written by another": (written_by_another, RESET, "reset", "_refuse_shared"),
    "read by another": (read_by_another, REPLAY, "replay", "_refuse_downstream"),
    "the entry of a batch with state is lost": (
        without_commit,
        RESUME,
        "rewind",
        "_state_is_behind",
    ),
    "a checkpoint with state is lost": (without_checkpoint, RESUME, "reset", "_state_is_lost"),
    "the sinks are apart": (apart, RESUME, "rewind", "_refuse_apart"),
    "the sinks differ": (differing, RESUME, "reset", "_refuse_apart"),
    "a sink has no row": (without_row, RESUME, "reset", "rebuild"),
    "which files were read is lost": (without_files, RESUME, "reset", "read_source_files"),
    "a row of another generation": (of_another_generation, RESUME, "reset", "newest_rows"),
    "no ledger, and no entry": (without_ledger, RESUME, "rewind", "_cannot_resume"),
    "from here, with state": (with_state, {**RESET, "start": "here"}, "reset", "_here"),
    "from here, before the first batch": (first_in_one, KEEP, "reset", "find_position"),
    "migrated with state": (with_state, MIGRATE, "reset", "plan_migrate"),
    "nothing to copy": (gone, SNAPSHOT, "resume", "_refuse_nothing"),
}
ELSEWHERE = {
    "plan_of": "it names a pipeline by its form; test_backfill_kills goes on by the same call",
    "refuse_blocked": "a kept history runs it: found-locked-out-101-1583",
    "_refuse_half_applied": "campaigns.repair_kills continues every plan that it kills",
    "_earliest_of_topic": "it names no command: the address of the broker is not known",
}
"""Functions that name a nearest command, and why no case here runs it."""


@pytest.mark.parametrize("name", CASES)
def test_the_nearest_command_gives_a_plan(
    name: str, disk: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, asked, goal, _ = CASES[name]
    monkeypatch.setattr("holdfast.plan.goals.position._earliest_of_topic", _from_zero)
    made(disk)
    found = disk.plan(STREAM, **asked)
    assert isinstance(found, NoPlan)
    assert found.nearest.startswith(f"holdfast plan {goal} {STREAM} --root {disk.root}"), found
    assert run(found.nearest, disk.root).goal == goal


def test_every_function_that_names_a_nearest_command_has_a_case() -> None:
    """A command that is printed and never run may give no plan."""
    cased = {site for *_, site in CASES.values()}
    assert cased | set(ELSEWHERE) == set(find_sites())


def find_sites() -> Iterator[str]:
    """Yield the functions of the plans that say which command comes nearest."""
    for path in sorted(Path(plan.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
                names = {word.arg for call in calls for word in call.keywords}
                if names & {"nearest", "needs_kept_output"}:
                    yield node.name


def _from_zero(*_: object) -> Position:
    return Position(shown="reads all", offsets={"0": {"topic": {"0": 0}}})


def test_with_an_order_several_batches_run_as_one(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2}, keys=("id",), sequence_by="at")
    disk.checkpoint(STREAM, 2)
    assert isinstance(disk.plan(STREAM, **REPLAY, batches=2), Plan)


@pytest.mark.parametrize("batch", [1, 2])
def test_the_entry_of_a_committed_batch_is_written_again_while_its_state_is_there(
    batch: int, disk: OnDisk
) -> None:
    """Spark drops late rows by the watermark of the entry: the commit before it says which."""
    disk.add(STREAM, {"s": batch}, operators=STATEFUL)
    disk.checkpoint(STREAM, batch)
    disk.state(STREAM, *(f"{version}.delta" for version in range(1, batch + 2)))
    home = disk.root / STREAM
    (home / f"commits/{batch - 1}").write_text('v1\n{"nextBatchWatermarkMs":4000}')
    (home / f"offsets/{batch}").write_bytes(b"")
    commit = (home / f"commits/{batch}").read_text()
    plan = disk.plan(STREAM, goal="resume")
    assert isinstance(plan, Plan), plan
    assert plan.words == ()
    (put,) = (each for each in plan.steps if isinstance(each, PutFile))
    entry = parse_offset_entry(put.path, BatchId(batch), put.content.encode())
    assert isinstance(entry, OffsetEntry)
    assert entry.metadata is not None
    assert entry.metadata.batch_watermark_ms == 4000
    assert [each.text for each in entry.offsets] == [f'{{"topic":{{"0":{batch}}}}}']
    assert (home / f"commits/{batch}").read_text() == commit
    assert not any(getattr(each, "path", "").startswith("commits/") for each in plan.steps)


def test_state_that_is_gone_is_not_gone_on_from(disk: OnDisk) -> None:
    disk.add(STREAM, {"s": 2}, keys=("id",), operators=STATEFUL)
    disk.checkpoint(STREAM, 2)
    disk.state(STREAM, "1.delta")
    (disk.root / STREAM / "offsets/2").write_bytes(b"")
    found = disk.plan(STREAM, goal="resume")
    assert isinstance(found, NoPlan)
    assert "keeps state" in found.reason


def test_an_entry_that_was_edited_is_written_again(disk: OnDisk) -> None:
    """The sink holds another batch of that number: from the entry Spark would lose or repeat."""
    disk.add(STREAM, {"s": 2})
    disk.checkpoint(STREAM, 2)
    sink = disk.sinks[STREAM, "s"]
    assert sink.row is not None
    disk.sinks[STREAM, "s"] = replace(sink, row=dataclasses.replace(sink.row, digest="2" * 64))
    path = disk.root / STREAM / "offsets/2"
    path.write_text(path.read_text().replace('"0":2', '"0":9'))
    plan = disk.plan(STREAM, goal="resume")
    assert isinstance(plan, Plan), plan
    (put,) = (each for each in plan.steps if isinstance(each, PutFile) and "offsets" in each.path)
    assert put.content.endswith('{"topic":{"0":2}}')


def test_a_backfill_of_the_stream_is_not_another_stream(disk: OnDisk) -> None:
    name = f"{STREAM}-backfill-7c1f04ab"
    disk.add(STREAM, {"s": 2})
    disk.checkpoint(STREAM, 2)
    sink = disk.sinks[STREAM, "s"]
    asked = {"goal": "reset", "start": "here", "output": "truncate"}
    disk.sinks[STREAM, "s"] = replace(sink, others=(name, "others"))
    found = disk.plan(STREAM, **asked)
    assert isinstance(found, NoPlan)
    backfill = Backfill(
        stream=STREAM, generation=1, start="{}", end="{}", chunks=1, sinks=("s",), began_at=OLD
    )
    disk.record(STREAM).put(f"{BACKFILLS}/{name}/{backfill.path}", encode(backfill))
    found = disk.plan(STREAM, **asked)
    assert isinstance(found, NoPlan)
    assert "also holds rows of others, which" in found.reason
    disk.sinks[STREAM, "s"] = replace(sink, others=(name,))
    plan = disk.plan(STREAM, **asked)
    assert isinstance(plan, Plan)
    assert "1 backfills of the stream" in " ".join(plan.impact[0].outputs)
