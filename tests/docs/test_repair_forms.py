"""The schemas of plans and of their application are those of what the commands print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.plan.plan_file import Plan
from tests.docs.repair_forms import (
    AppliedJson,
    ApplyAnswer,
    NoPlanJson,
    PlanAnswer,
    RehearsalJson,
)
from tests.docs.repair_root import make_root


@pytest.fixture
def srv(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], form: Any, *words: str) -> Any:
    assert run_command([*words, "--format", "json"]) == ExitCode.DONE
    return msgspec.json.decode(capsys.readouterr().out, type=form)


def test_plans_rehearsals_and_applications_have_the_form(
    srv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, file = str(srv / "streams"), str(srv / "plan.json")
    asked = ("plan", "snapshot", "readings", "--root", root, "--name", "one", "-o", file)
    planned = ask(capsys, PlanAnswer, *asked)
    assert isinstance(planned, Plan)
    assert msgspec.json.decode(Path(file).read_bytes(), type=Plan) == planned
    rehearsed = ask(capsys, ApplyAnswer, "apply", file)
    assert isinstance(rehearsed, RehearsalJson)
    assert len(rehearsed.not_rehearsed) == 1
    applied = ask(capsys, ApplyAnswer, "apply", file, "--execute")
    assert isinstance(applied, AppliedJson)
    assert applied.plan == rehearsed.plan == planned.id
    undone = ask(capsys, ApplyAnswer, "undo", applied.journal, "--execute")
    assert isinstance(undone, AppliedJson)


def test_changed_files_and_next_starts_have_the_form(
    srv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, file = str(srv / "streams"), str(srv / "plan.json")
    (srv / "streams/readings/commits/11").write_bytes(b"")
    ask(capsys, PlanAnswer, "plan", "resume", "readings", "--root", root, "-o", file)
    rehearsed = ask(capsys, ApplyAnswer, "apply", file)
    assert [(each.path, each.kind) for each in rehearsed.changes] == [("commits/11", "deleted")]
    assert len(rehearsed.next_starts) == 1


def test_no_plan_has_the_form(srv: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, PlanAnswer, "plan", "resume", "readings", "--root", str(srv / "streams"))
    assert isinstance(found, NoPlanJson)
    assert found.is_fine


def test_a_field_that_is_not_in_the_form_is_found() -> None:
    raw = b'{"format":"holdfast.applied","version":1,"plan":"a","journal":"b","steps":1,"x":1}'
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(raw, type=ApplyAnswer)
