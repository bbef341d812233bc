"""Repairs from Python: the same plans, rehearsals and journals as those of the commands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.repairing import _stores
from tests.docs.repair_root import make_root
from tests.house.repository import ROOT

STREAM = "readings"
TOLD = {"journal", "leases", "repairs"}


@pytest.fixture
def root(tmp_path: Path) -> str:
    make_root(tmp_path)
    return str(tmp_path / "streams")


def files(root: str) -> dict[str, bytes]:
    """Return every file below a root but those that tell of repairs and drivers."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(Path(root).rglob("*"))
        if path.is_file() and not TOLD & set(path.parts)
    }


def test_a_snapshot_is_planned_rehearsed_applied_and_taken_back(root: str) -> None:
    before = files(root)
    plan = hf.plan_snapshot(STREAM, name="one", root=root)
    rehearsed = hf.rehearse_plan(plan)
    assert isinstance(plan, hf.Plan)
    assert isinstance(rehearsed, hf.Rehearsal)
    assert files(root) == before
    told: list[int] = []
    journal = hf.apply_plan(plan, allow=plan.words, on_step=lambda number, _: told.append(number))
    assert told == list(range(1, len(plan.steps) + 1))
    kept = f"_holdfast/{STREAM}/snapshots/one"
    assert [each for each in files(root) if each.startswith(kept)]
    back = hf.plan_undo(journal)
    assert isinstance(back, hf.Plan)
    hf.apply_plan(back, allow=back.words)
    assert files(root) == before


def test_the_example_of_the_guide_runs(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs/guides/repair.md").read_text().partition("## From Python")[2]
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    before = files(root)
    exec(compile(example.replace("/srv/streams", root), "guide", "exec"), {})
    assert f"created {root}" in capsys.readouterr().out
    assert files(root) == before


def test_it_is_the_plan_of_the_command(root: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("plan", "clone", STREAM, "--as", "two", "--root", root, "--format", "json")
    assert run_command([*asked]) == ExitCode.DONE
    said = json.loads(capsys.readouterr().out)
    plan = hf.plan_clone(STREAM, name="two", root=root)
    assert isinstance(plan, hf.Plan)
    assert (plan.goal, plan.summary) == (said["goal"], said["summary"])
    assert len(plan.steps) == len(said["steps"])


def test_a_file_of_a_plan_is_read_and_applied(root: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    asked = ("plan", "snapshot", STREAM, "--name", "one", "--root", root, "-o", str(file))
    assert run_command([*asked]) == ExitCode.DONE
    plan = hf.read_plan(file)
    assert hf.apply_plan(plan, allow=plan.words)


def test_a_plan_that_was_altered_is_refused(root: str, tmp_path: Path) -> None:
    """A plan as a value is believed no more than its file."""
    file = tmp_path / "plan.json"
    asked = ("plan", "clone", STREAM, "--as", "two", "--root", root, "-o", str(file))
    assert run_command([*asked]) == ExitCode.DONE
    document = json.loads(file.read_text())
    document["steps"] = document["steps"][:-1]
    file.write_text(json.dumps(document))
    before = files(root)
    with pytest.raises(hf.HoldfastError):
        hf.apply_plan(hf.read_plan(file), allow=("destructive:readings",))
    assert files(root) == before


def test_without_a_plan_nothing_is_applied(root: str) -> None:
    found = hf.plan_restore(STREAM, snapshot="never-taken", root=root)
    assert isinstance(found, hf.NoPlan)
    with pytest.raises(hf.ConfigError, match="There is no plan: "):
        hf.apply_plan(found)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda **where: hf.plan_replay(STREAM, output="restor", **where), "'restor' is no output"),
        (lambda **where: hf.plan_rewind(STREAM, to_batch=1, output="kept", **where), "no output"),
        (
            lambda **where: hf.plan_reset(STREAM, start="earliest", output="empty", **where),
            "It takes: truncate, new-table, keep-from-here",
        ),
        (
            lambda **where: hf.plan_reset(
                STREAM, start="earliest", output="truncate", outputs={"readings/x": "no"}, **where
            ),
            "'no' is no output of reset",
        ),
        (lambda **where: hf.plan_replay(STREAM, batches=0, **where), "batches=0"),
        (lambda **where: hf.plan_prune(STREAM, older_than_days=10**7, **where), "from 0 to 36500"),
        (lambda **where: hf.plan_prune(STREAM, older_than_days=-1, **where), "from 0 to 36500"),
    ],
)
def test_a_word_that_the_command_would_refuse_is_refused(call: Any, says: str, root: str) -> None:
    with pytest.raises(hf.ConfigError, match=re.escape(says)):
        call(root=root)


def test_a_misspelt_keyword_is_an_error(root: str) -> None:
    """Without the root, the name of a stream would be taken for a location."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'rooot'"):
        hf.plan_resume(STREAM, rooot=root)  # type: ignore[call-arg]
    plan = hf.plan_snapshot(STREAM, name="one", root=root)
    with pytest.raises(TypeError, match="unexpected keyword argument 'root'"):
        hf.rehearse_plan(plan, root=root)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'root'"):
        hf.apply_plan(plan, root=root)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'root'"):
        hf.plan_undo("journal", root=root)  # type: ignore[call-arg]


def test_a_plan_that_needs_spark_says_how_to_pass_it() -> None:
    with pytest.raises(hf.ConfigError, match="pass a Spark session as spark="):
        _stores({})._session()


def test_lint_reports_as_the_command_does(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        'df.writeStream.option("checkpointLocation", "/tmp/x").format("delta").start("/t")\n'
    )
    (report,) = hf.lint_code(program)
    assert [each.finding.code for each in report.findings] == ["HF802"]
    with pytest.raises(hf.ConfigError, match="does not exist"):
        hf.lint_code(tmp_path / "gone.py")


def test_a_version_is_given_as_people_write_it(root: str) -> None:
    place = f"{root}/{STREAM}"
    assert hf.inspect(place, spark="4.2").overview.spark == (4, 2)
    assert hf.inspect(place, spark=(4, 2)).overview.spark == (4, 2)
    assert hf.inspect(place, spark="4.2.1").overview.spark == (4, 2)
    with pytest.raises(hf.ConfigError, match=r"spark=9\.9 is not a version"):
        hf.inspect(place, spark="9.9")


def test_a_switch_shows_the_traceback_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--traceback", "lint", "not-there.py"]) == ExitCode.USAGE
    assert "Traceback (most recent call last)" in capsys.readouterr().err
    run_command(["lint", "not-there.py"])
    assert "Traceback" not in capsys.readouterr().err
