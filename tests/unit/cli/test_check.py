"""`holdfast check`: what it prints, in both formats, and its exit codes; without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.cli import check as command
from holdfast.cli.check_json import CheckJson
from holdfast.cli.exit_codes import ExitCode
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules import Finding
from holdfast.rules.compatibility import Compatibility, StreamCheck
from tests import calling

MODULE = """\
class Pipeline:
    name = "lake"
    show = None
    asked = None
    answer = ()

    def check(self, spark, *, only, root):
        self.asked = (spark, only, root)
        return self.answer

pipeline = Pipeline()
number = 7
"""
Call = Callable[..., tuple[int, list[str]]]


def finding(severity: Severity, what: str = "It was a and is b now.") -> Finding:
    return Finding(
        code="HF999",
        name="something-changed",
        severity=severity,
        confidence=Confidence.CERTAIN,
        effect=Effect.NONE,
        goal=Goal.NONE,
        what=what,
        how="Put it back.",
        accepting="",
        follows_from=("offsets/4",),
    )


SAME = StreamCheck(stream="raw", newest_batch=4)
NOTED = StreamCheck(stream="gold", newest_batch=4, findings=(finding(Severity.RISK),))
BAD = StreamCheck(stream="totals", newest_batch=4, findings=(finding(Severity.DATA_AT_RISK),))
UNSEEN = StreamCheck(stream="other", newest_batch=4, unknown=("The sink was away.",))


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(command, "local_session", lambda _: "the session")
    with calling.importable(tmp_path, monkeypatch, name="checked_lake", text=MODULE):
        yield import_module("checked_lake").pipeline


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str) -> tuple[int, list[str]]:
        code, out, _ = calling.call(capsys, "check", *arguments)
        return code, out.splitlines()

    return call_it


@pytest.mark.parametrize(
    ("checks", "code", "first"),
    [
        (
            (SAME, SAME),
            ExitCode.DONE,
            "Compatible: 2 of 2 streams. The code can continue on every checkpoint.",
        ),
        (
            (SAME, NOTED),
            ExitCode.DONE,
            "Compatible with notes: 1 of 2 streams (gold). The code can continue; read the notes.",
        ),
        (
            (NOTED, UNSEEN),
            ExitCode.NOT_JUDGED,
            "Unknown: 1 of 2 streams (other). Something could not be compared.",
        ),
        (
            (BAD, UNSEEN, SAME),
            ExitCode.FOUND,
            "Incompatible: 1 of 3 streams (totals). Do not deploy this code.",
        ),
    ],
)
def test_the_first_line_and_the_exit_code_are_the_answer(
    call: Call, pipeline: Any, checks: tuple[StreamCheck, ...], *, code: int, first: str
) -> None:
    pipeline.answer = checks
    found, lines = call("checked_lake:pipeline")
    assert (found, lines[0]) == (code, first)


def test_every_stream_is_told_with_what_was_found(call: Call, pipeline: Any) -> None:
    pipeline.answer = (SAME, BAD, UNSEEN, StreamCheck(stream="new"))
    _, lines = call("checked_lake:pipeline")
    assert lines[1:] == [
        "  raw     compatible",
        "  totals  incompatible",
        "    HF999 something-changed (data-at-risk): It was a and is b now.",
        "      Put it back.",
        "  other   unknown",
        "    not compared: The sink was away.",
        "  new     compatible (it has no batch yet)",
    ]


def test_json_says_the_same(call: Call, pipeline: Any) -> None:
    pipeline.answer = (SAME, BAD)
    code, lines = call("checked_lake:pipeline", "--format", "json")
    told = json.loads("\n".join(lines))
    assert code == ExitCode.FOUND
    assert (told["format"], told["version"]) == ("holdfast.check", 2)
    assert (told["pipeline"], told["verdict"]) == ("lake", "incompatible")
    assert [each["verdict"] for each in told["streams"]] == ["compatible", "incompatible"]
    assert told["streams"][1]["findings"][0]["follows_from"] == ["offsets/4"]
    assert msgspec.convert(told, type=CheckJson).streams[1].newest_batch == 4


def test_streams_and_root_are_passed_on(call: Call, pipeline: Any) -> None:
    pipeline.answer = (SAME,)
    call("checked_lake:pipeline", "--stream", "raw", "--stream", "gold", "--root", "s3://copy")
    assert pipeline.asked == ("the session", ("raw", "gold"), "s3://copy")
    call("checked_lake:pipeline")
    assert pipeline.asked == ("the session", None, None)


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_and_escape_codes_do_not_reach_the_terminal(
    call: Call, pipeline: Any, form: str
) -> None:
    what = "It was postgresql://me:hunter2@db/x and \x1b[31mred."
    pipeline.answer = (StreamCheck(stream="raw", findings=(finding(Severity.NOTE, what),)),)
    _, lines = call("checked_lake:pipeline", "--format", form)
    assert "hunter2" not in "\n".join(lines)
    assert "\x1b" not in "\n".join(lines)


@pytest.mark.usefixtures("pipeline")
@pytest.mark.parametrize("named", ["nowhere:pipeline", "checked_lake:number", "checked_lake"])
def test_what_is_no_pipeline_is_a_usage_error(call: Call, named: str) -> None:
    assert call(named) == (ExitCode.USAGE, [])


def test_unknown_is_never_better_than_notes() -> None:
    order = list(Compatibility)
    assert order.index(Compatibility.UNKNOWN) > order.index(Compatibility.WITH_NOTES)
    both = StreamCheck(stream="a", findings=(finding(Severity.NOTE),), unknown=("x",))
    assert both.verdict is Compatibility.UNKNOWN


def test_a_rule_that_failed_makes_the_answer_unknown_and_not_incompatible() -> None:
    asks = replace(finding(Severity.DATA_AT_RISK), confidence=Confidence.UNKNOWN)
    assert StreamCheck(stream="a", findings=(asks,)).verdict is Compatibility.UNKNOWN
    both = StreamCheck(stream="a", findings=(asks, finding(Severity.BLOCKS_RESTART)))
    assert both.verdict is Compatibility.INCOMPATIBLE
