"""`holdfast backfill`: what it prints, in both formats, its progress and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from holdfast.cli import backfill as command
from holdfast.cli.backfill_text import render_plan, render_progress
from holdfast.cli.exit_codes import ExitCode
from holdfast.sinks.delta.sink import Delta
from holdfast.streams.backfill.errors import BackfillRefusedError, BackfillStoppedError
from holdfast.streams.backfill.plan import (
    BackfillPlan,
    BackfillProgress,
    Need,
    PartRange,
    SinkPart,
    SourcePart,
    describe_needs,
    effect_on,
    find_fatal,
)
from tests import calling

MODULE = """\
class Range:
    plan_of = None
    error = None
    steps = ()
    allowed = None

    def plan(self):
        return self.plan_of

    def run(self, *, allow, tell):
        type(self).allowed = allow
        if self.error is not None:
            raise self.error
        for each in self.steps:
            tell(each)
        return self.steps[-1]


class Pipeline:
    name = "lake"
    show = None
    asked = None

    def backfill(self, spark, stream, *, start, end, chunk):
        type(self).asked = (stream, start, end, chunk)
        return Range()

pipeline = Pipeline()
"""
PARTS = (
    PartRange(shown="t/0", start=10, end=1_010, expired=40),
    PartRange(shown="t/1", start=0, end=0),
)
PLAN = BackfillPlan(
    stream="readings",
    name="readings-backfill-7c1f04ab",
    start='{"0":{"t":{"0":10,"1":0}}}',
    end='{"0":{"t":{"0":1010,"1":0}}}',
    chunks=4,
    done=0,
    sources=(SourcePart(source="0", unit="offsets", parts=PARTS),),
    sinks=(SinkPart(label="raw", shown="the Delta table raw", effect="appends", chunks=0),),
    doubts=("it uses the current time",),
    needs=(Need(word="skips-data:readings", why="40 offsets of the range have expired"),),
)
STEP = BackfillProgress(
    name=PLAN.name, done=1, chunks=4, read=250, size=1_000, seconds_per_chunk=30.0
)
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


def prepared() -> type:
    found: type = import_module("backfilled").Range
    return found


def test_the_plan_is_shown_and_nothing_runs(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared(), "plan_of", PLAN)
    code, printed, _ = call(*RANGE, "--chunk", "250")
    assert code == ExitCode.DONE
    assert import_module("backfilled").Pipeline.asked == ("readings", "earliest", "{}", 250)
    assert printed.splitlines() == [
        "Backfill of readings, as readings-backfill-7c1f04ab. Nothing was changed.",
        "",
        "  Source 0: 1,000 offsets",
        "    t/0: 10 up to 1,010, 40 expired",
        "    t/1: 0 up to 0",
        "    960 are still in the topic, 40 have expired for good",
        "  In 4 chunks, each written exactly once.",
        "  The Delta table raw appends.",
        "  The rows can differ from those of the stream: it uses the current time.",
        "  Needs --allow skips-data:readings: 40 offsets of the range have expired.",
        "",
        "Run the same command with --execute --allow skips-data:readings to write it.",
    ]
    assert prepared().allowed is None  # type: ignore[attr-defined]


def test_the_plan_as_json(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared(), "plan_of", PLAN)
    code, printed, _ = call(*RANGE, "--format", "json")
    said = json.loads(printed)
    assert (code, said["format"], said["version"]) == (0, "holdfast.backfill-plan", 1)
    assert said["start"] == {"0": {"t": {"0": 10, "1": 0}}}
    assert (said["sources"][0]["size"], said["sources"][0]["expired"]) == (1_000, 40)
    assert said["needs"][0]["word"] == "skips-data:readings"


def test_it_runs_with_a_progress_bar(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    end = replace(STEP, done=4, read=1_000, seconds_per_chunk=0.0)
    monkeypatch.setattr(prepared(), "steps", (STEP, end))
    code, printed, said = call(*RANGE, "--execute", "--allow", "repeats-data:readings")
    assert (code, prepared().allowed) == (0, ("repeats-data:readings",))  # type: ignore[attr-defined]
    assert said.splitlines()[3:] == [
        "[######------------------]  25%  1/4 chunks, 250 of 1,000, about 1:30 left",
        "[########################] 100%  4/4 chunks, 1,000 of 1,000",
    ]
    assert printed == "readings: all 4 chunks of readings-backfill-7c1f04ab are in its sinks.\n"
    code, printed, _ = call(*RANGE, "--execute", "--format", "json")
    assert json.loads(printed)["chunks"] == 4


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BackfillRefusedError("readings", why="It keeps state.", how="Reset."), ExitCode.REFUSED),
        (BackfillStoppedError("readings", done=2, chunks=4, why="Gone."), ExitCode.STOPPED),
    ],
)
def test_a_refusal_and_a_stop_have_their_exit_codes(
    *, call: Call, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    monkeypatch.setattr(prepared(), "error", error)
    ended, printed, said = call(*RANGE, "--execute")
    assert (ended, printed) == (code, "")
    assert str(getattr(error, "why", "")) in said


def test_what_is_left_of_a_plan() -> None:
    left = render_plan(replace(PLAN, done=1, doubts=(), needs=(), sinks=()))
    assert "  1 of 4 chunks are done. What is left:" in left
    ahead = replace(PLAN.sinks[0], chunks=2)
    shown = "\n".join(render_plan(replace(PLAN, done=1, sinks=(ahead,))))
    assert "(it has chunk 2 already, and skips it)" in shown
    done = list(render_plan(replace(PLAN, done=4)))
    assert done == ["readings: this range is in its sinks already (readings-backfill-7c1f04ab)."]
    many = tuple(PartRange(shown=f"t/{number}", start=0, end=1) for number in range(30))
    source = SourcePart(source="0", unit="offsets", parts=many)
    assert "    and 10 more partitions" in render_plan(replace(PLAN, sources=(source,)))


def test_the_bar_of_one_chunk() -> None:
    one = replace(STEP, done=0, chunks=1, read=0, seconds_per_chunk=0.0)
    assert render_progress(one).startswith("[------------------------]   0%  0/1 chunks")


def test_what_sinks_do_and_what_is_needed() -> None:
    append, merge = Delta(path="raw"), Delta(path="raw", keys=["id"], sequence_by="at")
    assert effect_on(append) == "appends: a row that it already has would be there twice"
    assert effect_on(merge) == "merges by id: a row with a newer at stays"
    assert find_fatal([append, merge]) is None
    assert "without sequence_by" in (find_fatal([Delta(path="raw", keys=["id"])]) or "")
    assert describe_needs("s", repeats=None, expired=0) == ()
    words = [need.word for need in describe_needs("s", repeats="it is there", expired=3)]
    assert words == ["repeats-data:s", "skips-data:s"]
