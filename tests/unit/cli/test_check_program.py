"""`holdfast check FILE.py`: what it asks for and prints; the program itself is not run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from holdfast.cli import check as command
from holdfast.cli.check_json import CheckJson
from holdfast.cli.exit_codes import ExitCode
from holdfast.errors import MissingExtraError
from holdfast.rules.compatibility import CodeCheck, RecordedQuery, StreamCheck
from holdfast.streams import program_check
from holdfast.streams.program_answers import (
    ANSWERS,
    OUTPUT,
    REQUEST,
    Answer,
    ProgramEnded,
    QueryChecked,
    Request,
    WriteRefused,
)
from holdfast.streams.program_check import ProgramNotCheckedError, check_program
from tests import calling

QUERY = RecordedQuery(
    sources=("kafka orders",),
    operators=(),
    sink="DeltaSink[/t]",
    output_mode="append",
    trigger="ProcessingTimeTrigger(0)",
    checkpoint="/cp",
    where="jobs/orders.py:41",
)
SAME = StreamCheck(stream="orders", newest_batch=4, query=QUERY)
UNNAMED = replace(SAME, stream="/cp")
ENDED = ProgramEnded()
REFUSED = WriteRefused("RDD.foreach", "jobs/orders.py:7")
Call = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the command asks for; it gets one compatible query."""
    told: dict[str, Any] = {}

    def check(program: str, arguments: tuple[str, ...], **given: Any) -> CodeCheck:
        told.update(given, program=program, arguments=arguments)
        answer: CodeCheck = told.get("answer", CodeCheck(name=program, checks=(SAME, UNNAMED)))
        return answer

    monkeypatch.setattr(command, "check_program", check)
    return told


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str) -> tuple[int, list[str]]:
        code, out, err = calling.call(capsys, "check", *arguments)
        return code, (out or err).splitlines()

    return call_it


def test_the_program_gets_its_arguments_and_settings(call: Call, asked: dict[str, Any]) -> None:
    options = ["--conf", "spark.a=1=2", "--event-log", "/log", "--timeout", "9"]
    code, lines = call("jobs/orders.py", *options, "--", "--day", "7")
    assert code == ExitCode.DONE
    assert asked == {
        "program": "jobs/orders.py",
        "arguments": ("--day", "7"),
        "settings": {"spark.a": "1=2"},
        "event_log": "/log",
        "seconds": 9.0,
    }
    assert lines == [
        "Compatible: 2 of 2 streams. The code can continue on every checkpoint.",
        "  orders  compatible, jobs/orders.py:41, on /cp",
        "  /cp     compatible, jobs/orders.py:41",
    ]


def test_a_program_that_was_not_run_to_its_end_is_unknown(
    call: Call, asked: dict[str, Any]
) -> None:
    asked["answer"] = CodeCheck(name="a.py", checks=(SAME,), unknown=("It hung.",))
    code, lines = call("a.py")
    assert code == ExitCode.NOT_JUDGED
    assert lines[0] == ("Unknown: a.py was not run to its end. Something could not be compared.")
    assert lines[-1] == "  not compared: It hung."


def test_json_has_what_was_recorded(call: Call, asked: dict[str, Any]) -> None:
    asked["answer"] = CodeCheck(name="a.py", checks=(SAME,), unknown=("It hung.",))
    code, lines = call("a.py", "--format", "json")
    told = json.loads("\n".join(lines))
    assert code == ExitCode.NOT_JUDGED
    assert (told["pipeline"], told["verdict"], told["unknown"]) == ("a.py", "unknown", ["It hung."])
    assert told["streams"][0]["query"]["where"] == "jobs/orders.py:41"
    assert told["streams"][0]["verdict"] == "compatible"
    msgspec.json.decode("\n".join(lines), type=CheckJson)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.py", "--root", "/r"), "takes no --root"),
        (("m:p", "--event-log", "/l"), "takes no --event-log"),
        (("m:p", "--conf", "a=1", "--", "7"), "takes no --conf and no ARGS"),
        (("a.py", "--conf", "password"), "is not of the form KEY=VALUE"),
        (("a.py", "--stream", "nix"), "a.py starts no nix. It starts /cp, orders."),
    ],
)
def test_what_is_for_the_other_kind_is_refused(
    call: Call, words: tuple[str, ...], said: str
) -> None:
    code, lines = call(*words)
    assert code == ExitCode.USAGE
    assert any(said in line for line in lines)


def test_one_query_of_a_program(call: Call, asked: dict[str, Any]) -> None:
    _, lines = call("a.py", "--stream", "orders")
    assert lines[0].startswith("Compatible: 1 of 1 streams.")
    assert asked["program"] == "a.py"


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., CodeCheck]:
    """Return what checks a program whose child has given some answers."""
    program = tmp_path / "job.py"
    program.touch()

    def check(*answers: Answer, status: int | None = 0, said: str = "") -> CodeCheck:
        def run(scratch: Path, _: float) -> int | None:
            asked = msgspec.json.decode((scratch / REQUEST).read_bytes(), type=Request)
            assert asked.settings["spark.master"] == "local[2]"
            assert asked.settings["spark.eventLog.enabled"] == "false"
            lines = (msgspec.json.encode(each) + b"\n" for each in answers)
            (scratch / ANSWERS).write_bytes(b"".join(lines) + b'{"type":"cut')
            (scratch / OUTPUT).write_text(said)
            return status

        monkeypatch.setattr(program_check, "_run", run)
        forced = {"spark.master": "yarn", "spark.eventLog.enabled": "true"}
        return check_program(str(program), settings=forced, seconds=9)

    return check


@pytest.mark.parametrize(
    ("answers", "status", "said"),
    [
        ((ENDED,), 0, "It ended without starting a streaming query."),
        ((ProgramEnded("ValueError: x", "a.py:3"),), 0, "It failed at a.py:3: ValueError: x."),
        ((ProgramEnded("it ended with exit code 2"),), 0, "It failed: it ended with"),
        (
            (REFUSED, ProgramEnded("Py4JJavaError: o7")),
            0,
            "It would have written at jobs/orders.py:7",
        ),
        ((), None, "It did not end within 9 s."),
        (
            (),
            -9,
            "Its process ended with exit code -9 before the program did. It said last: a\n",
        ),
    ],
)
def test_why_a_program_was_not_checked(
    *, ran: Callable[..., CodeCheck], answers: tuple[Answer, ...], status: int | None, said: str
) -> None:
    with pytest.raises(ProgramNotCheckedError) as found:
        ran(*answers, status=status, said="a\nb\npassword=hunter2\n")
    assert found.value.why.startswith(said)
    assert found.value.how
    assert "hunter2" not in str(found.value)


def test_what_came_before_an_end_is_kept(ran: Callable[..., CodeCheck]) -> None:
    checked = QueryChecked(SAME)
    assert ran(checked, ENDED) == CodeCheck(name=ran(checked, ENDED).name, checks=(SAME,))
    for answers, status in (((checked,), None), ((checked, REFUSED, ENDED), 0)):
        found = ran(*answers, status=status)
        assert (found.checks, len(found.unknown), found.verdict) == ((SAME,), 1, "unknown")
    found = ran(checked, *[REFUSED] * 7, ENDED)
    assert [each[:12] for each in found.unknown] == [*["It would hav"] * 5, "2 more write"]


def test_without_pyspark_the_extra_is_named(
    ran: Callable[..., CodeCheck], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_check, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError):
        ran()
