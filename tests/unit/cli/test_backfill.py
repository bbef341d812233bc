"""`holdfast backfill`: what it prints, in both formats, its progress and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.apply.errors import NotAllowedError
from holdfast.cli import backfill as command
from holdfast.cli.backfill import render_progress
from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.goals.backfill import _ahead, _changes, _effect
from holdfast.plan.plan_file import Change, Impact, Need, NoPlan, Plan
from holdfast.plan.preconditions import GenerationIs
from holdfast.plan.steps import Permission, WriteRange
from holdfast.record.contracts import SinkContract
from holdfast.sinks.delta.sink import Delta
from holdfast.streams.backfill.errors import BackfillRefusedError, BackfillStoppedError
from holdfast.streams.backfill.known import find_fatal
from holdfast.streams.backfill.parts import PartRange, SourcePart
from holdfast.streams.backfill.prepare import BackfillProgress
from tests import calling

MODULE = """\
class Pipeline:
    name = "lake"
    show = None

pipeline = Pipeline()
"""
NAME = "readings-backfill-7c1f04ab"
PARTS = (
    PartRange(display_name="t/0", start=10, end=1_010, expired=40),
    PartRange(display_name="t/1", start=0, end=0),
)
SOURCE = SourcePart(source="0", unit="offsets", parts=PARTS)
NEED = Need(
    permission=Permission.SKIPS_DATA,
    stream="readings",
    why="40 offsets of the range have expired.",
)
PLAN = Plan(
    id="20261118-040000-7c1f04",
    goal="backfill",
    stream=NAME,
    root="/streams",
    beside="readings",
    made_at="2026-11-18T04:00:00+00:00",
    made_by="Holdfast",
    summary=f"Backfill of readings, as {NAME}.",
    impact=(
        Impact(
            stream=NAME,
            position="writes 4 chunks, each exactly once",
            outputs=("the Delta table raw appends",),
            changes=tuple(_changes(SOURCE)),
        ),
    ),
    needs=(NEED,),
    undo="Nothing.",
    preconditions=(GenerationIs(stream="readings", number=1),),
    steps=(
        WriteRange(
            stream=NAME,
            start='{"0":{"t":{"0":10,"1":0}}}',
            end='{"0":{"t":{"0":1010,"1":0}}}',
            chunks=4,
            sinks=(SinkContract(kind="delta", place="/raw", label="raw"),),
            why="w",
        ),
    ),
)
STEP = BackfillProgress(name=NAME, done=1, chunks=4, read=250, size=1_000, seconds_per_chunk=30.0)
RANGE = ("--from", "earliest", "--to", "{}")
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Call]:
    monkeypatch.setattr(command, "local_session", lambda _: "spark")
    asked = ("backfill", "backfilled:pipeline", "readings")
    with calling.importable(tmp_path, monkeypatch, name="backfilled", text=MODULE):
        yield lambda *arguments: calling.call(capsys, *asked, *arguments)


def planned(monkeypatch: pytest.MonkeyPatch, found: Plan | NoPlan) -> list[Any]:
    """Let every range have this plan; return what was asked for."""
    asked: list[Any] = []

    def plan(_: object, spark: object, stream: str, **wanted: object) -> Plan | NoPlan:
        asked.append((spark, stream, wanted))
        return found

    monkeypatch.setattr(command, "plan_backfill", plan)
    return asked


def test_the_plan_is_shown_and_nothing_runs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = planned(monkeypatch, PLAN)
    code, printed, _ = call(*RANGE, "--chunk", "250")
    assert code == ExitCode.DONE
    assert asked == [("spark", "readings", {"start": "earliest", "end": "{}", "chunk": 250})]
    assert printed.splitlines() == [
        f"Backfill of readings, as {NAME}. Nothing has been changed.",
        "",
        f"  {NAME}  writes 4 chunks, each exactly once",
        "                        the Delta table raw appends",
        "                        source 0: 1,000 offsets",
        "                          t/0: 10 up to 1,010, 40 expired",
        "                          t/1: 0 up to 0",
        "                        40 of them have expired for good",
        "",
        "  lost for good         40 records",
        "  skipped               nothing",
        "  repeated              nothing",
        "  undo                  Nothing.",
        "  needs                 --allow skips-data:readings   40 offsets of the range have "
        "expired.",
        "  steps                 1; the plan is 20261118-040000-7c1f04",
        "",
        "Run the same command with --execute --allow skips-data:readings to write it.",
    ]


def test_the_plan_as_json(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, PLAN)
    code, printed, _ = call(*RANGE, "--format", "json")
    said = json.loads(printed)
    assert (code, said["format"], said["version"]) == (0, "holdfast.plan", 1)
    assert (said["stream"], said["beside"]) == (NAME, "readings")
    assert json.loads(said["steps"][0]["start"]) == {"0": {"t": {"0": 10, "1": 0}}}
    assert said["needs"][0]["permission"] == "skips-data"


def test_a_range_that_is_there(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, NoPlan(reason=f"readings: this range is in ({NAME}).", is_fine=True))
    assert call(*RANGE)[:2] == (ExitCode.DONE, f"readings: this range is in ({NAME}).\n")


def test_it_runs_with_a_progress_bar(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    end = replace(STEP, done=4, read=1_000, seconds_per_chunk=0.0)
    allowed: list[object] = []

    def run(*_: object, allow: object, tell: Any, **__: object) -> BackfillProgress:
        allowed.append(allow)
        for each in (STEP, end):
            tell(each)
        return end

    monkeypatch.setattr(command, "run_backfill", run)
    code, printed, said = call(*RANGE, "--execute", "--allow", "repeats-data:readings")
    assert (code, allowed) == (0, [("repeats-data:readings",)])
    assert said.splitlines()[3:] == [
        "[######------------------]  25%  1/4 chunks, 250 of 1,000, about 1:30 left",
        "[########################] 100%  4/4 chunks, 1,000 of 1,000",
    ]
    assert printed == f"readings: all 4 chunks of {NAME} are in its sinks.\n"
    code, printed, _ = call(*RANGE, "--execute", "--format", "json")
    assert json.loads(printed)["chunks"] == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BackfillRefusedError("readings", why="It keeps state.", how="Reset."), ExitCode.REFUSED),
        (NotAllowedError(PLAN.id, (("repeats-data:readings", "Twice."),)), ExitCode.REFUSED),
        (BackfillStoppedError("readings", done=2, chunks=4, why="Gone."), ExitCode.STOPPED),
    ],
)
def test_a_refusal_and_a_stop_have_their_exit_codes(
    *, call: Call, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(command, "run_backfill", fail)
    ended, printed, said = call(*RANGE, "--execute")
    assert (ended, printed) == (code, "")
    assert str(getattr(error, "why", "")) in said


def test_what_is_left_of_a_range() -> None:
    assert _ahead(2, 1) == " (it has chunk 2 already, and skips it)"
    assert _ahead(1, 1) == ""
    many = tuple(PartRange(display_name=f"t/{number}", start=0, end=1) for number in range(30))
    changes = list(_changes(SourcePart(source="0", unit="offsets", parts=many)))
    assert changes[-1] == Change(kind="reads", what="  and 10 more partitions")


def test_the_bar_of_one_chunk() -> None:
    one = replace(STEP, done=0, chunks=1, read=0, seconds_per_chunk=0.0)
    assert render_progress(one).startswith("[------------------------]   0%  0/1 chunks")


def test_what_sinks_do() -> None:
    append, merge = Delta(path="raw"), Delta(path="raw", keys=["id"], sequence_by="at")
    assert _effect(append) == "appends: a row that it already has would be there twice"
    assert _effect(merge) == "merges by id: a row with a newer at stays"
    assert find_fatal([append, merge]) is None
    assert "without sequence_by" in (find_fatal([Delta(path="raw", keys=["id"])]) or "")
