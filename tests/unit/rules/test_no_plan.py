"""Where there is no plan, the command says what is wrong, and the nearest command can be run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.testing.case_form import ROOT, STREAM, RowCase, RuleCase, SinkCase
from tests.unit.rules.test_remedies import ELSEWHERE, lay_down, run

RESUME = f"holdfast plan resume {STREAM} --root {ROOT} -o plan.json"
RESUME_BARE = f"holdfast plan resume {ELSEWHERE} -o plan.json"
READ_TWICE = {
    f"sources/0/{number}": f'v1\n{{"path":"s3://in/{number}","timestamp":1,"batchId":{number}}}'
    for number in range(2)
}
NEAREST = re.compile(r"^Nearest: (.*)$", re.MULTILINE)


def with_rows(*last: int, generation: int = 1) -> RuleCase:
    sinks = tuple(
        SinkCase(name=f"s{number}", row=RowCase(last_batch=batch, generation=generation))
        for number, batch in enumerate(last)
    )
    return RuleCase(name="", planned=1, committed=1, sinks=sinks, finds=())


@pytest.mark.parametrize(
    "case",
    [
        RuleCase(name="HF102", is_bare=True, planned=4, gone=("metadata",), finds=()),
        RuleCase(name="HF212", is_bare=True, files=READ_TWICE, finds=()),
    ],
    ids=["metadata is gone", "the logs are gone"],
)
def test_a_resume_that_does_not_help_says_what_was_found(
    case: RuleCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(case, tmp_path, monkeypatch)
    ran = run(RESUME_BARE, tmp_path)
    assert (ran.code, ran.plan) == (ExitCode.REFUSED, None)
    assert f"cannot repair {case.name}" in ran.said


def test_where_nothing_is_wrong_a_resume_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = RuleCase(name="", is_bare=True, planned=4, committed=4, finds=())
    lay_down(case, tmp_path, monkeypatch)
    ran = run(RESUME_BARE, tmp_path)
    assert (ran.code, ran.plan) == (ExitCode.DONE, None)
    assert "Nothing keeps checkpoint from starting" in ran.said


@pytest.mark.parametrize(
    "case", [with_rows(0, 3), with_rows(1, generation=2)], ids=["apart", "of another generation"]
)
def test_the_nearest_command_can_be_run(
    case: RuleCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(case, tmp_path, monkeypatch)
    (nearest,) = NEAREST.findall(run(RESUME, tmp_path).said)
    ran = run(f"{nearest} -o plan.json", tmp_path)
    assert ran.code != ExitCode.USAGE, ran.said
    assert ran.plan is not None


def test_a_bare_checkpoint_is_told_no_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = RuleCase(
        name="", is_bare=True, planned=4, committed=4, files={"offsets/4": ""}, finds=()
    )
    lay_down(case, tmp_path, monkeypatch)
    ran = run(RESUME_BARE, tmp_path)
    assert ran.code == ExitCode.REFUSED
    assert not NEAREST.search(ran.said)


def test_a_sink_that_ends_with_the_batch_gets_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(with_rows(0), tmp_path, monkeypatch)
    command = f"holdfast plan rewind {STREAM} --root {ROOT} --to-batch 0 -o plan.json"
    plan = run(command, tmp_path).plan
    assert plan is not None
    assert plan.needs == ()


@pytest.mark.parametrize(
    ("name", "is_current"), [(f"{STREAM}.g2", True), (STREAM, False)], ids=["newest", "old"]
)
def test_a_command_is_about_the_newest_generation(
    name: str, *, is_current: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = RuleCase(name="", planned=4, committed=4, generation=2, finds=())
    lay_down(case, tmp_path, monkeypatch)
    (tmp_path / STREAM).mkdir()
    found = collect_case(DiagnoseRequest(location=str(tmp_path / name)))
    assert found.root == (str(tmp_path) if is_current else None)
