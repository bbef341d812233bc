"""`holdfast plan`, `apply` and `undo`, as people and programs call them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.apply import _waiting_teller
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.points import listen
from holdfast.record.leases import Lease, Waiting
from holdfast.record.owner import Owner
from tests.docs.repair_root import STREAM, make_root

TEN = 10


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    make_root(tmp_path)
    return tmp_path / "streams"


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run_command(list(words))
    said = capsys.readouterr()
    return code, said.out + said.err


def plan(root: Path, goal: str, *words: str) -> tuple[str, ...]:
    return ("plan", goal, STREAM, "--root", str(root), *words)


def test_a_snapshot_from_plan_to_undo(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(root.parent / "plan.json")
    snapshot = plan(root, "snapshot", "--name", "before", "-o", file)
    code, said = call(capsys, *snapshot, "--explain")
    assert code == ExitCode.DONE
    assert f"holdfast apply {file} --execute" in said
    code, said = call(capsys, "apply", file)
    assert code == ExitCode.DONE
    assert said.startswith("Rehearsed, nothing was changed")
    code, said = call(capsys, "apply", file, "--execute")
    assert code == ExitCode.DONE
    journal = said.partition("Undo: holdfast undo ")[2].strip()
    code, said = call(capsys, "undo", journal)
    assert (code, "Rehearsed" in said) == (ExitCode.DONE, True)
    code, said = call(capsys, "undo", journal, "--execute")
    assert code == ExitCode.DONE
    assert not list((root / "_holdfast" / STREAM / "snapshots").rglob("metadata"))
    code, said = call(capsys, "undo", journal, "--execute")
    assert code == ExitCode.DONE


def test_everything_is_json_when_asked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = root.parent / "plan.json"
    code, said = call(
        capsys, *plan(root, "clone", "--as", "two", "-o", str(file), "--format", "json")
    )
    assert code == ExitCode.DONE
    assert json.loads(said) == json.loads(file.read_text())
    code, said = call(capsys, "apply", str(file), "--format", "json")
    found: dict[str, Any] = json.loads(said)
    assert (found["format"], found["version"]) == ("holdfast.rehearsal", 1)
    code, said = call(capsys, "apply", str(file), "--execute", "--format", "json")
    found = json.loads(said)
    assert (code, found["format"]) == (ExitCode.DONE, "holdfast.applied")
    code, said = call(capsys, *plan(root, "resume", "--format", "json"))
    found = json.loads(said)
    assert (code, found["format"], found["is_fine"]) == (ExitCode.DONE, "holdfast.no-plan", True)


def test_a_plan_that_needs_a_word_is_refused_without_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(root.parent / "plan.json")
    reset = plan(root, "reset", "--from", "earliest", "--output", "truncate", "-o", file)
    code, said = call(capsys, *reset)
    assert code == ExitCode.DONE
    assert f"--allow destructive:{STREAM}" in said
    assert "they run as Spark jobs" in said
    code, said = call(capsys, "apply", file, "--execute")
    assert code == ExitCode.REFUSED
    assert "NOT_ALLOWED" in said
    assert "Spark session" not in said


def kill_apply(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Carry a plan out, and end it inside of a step."""

    def kill(point: str) -> None:
        if point == "A6":
            raise SystemExit

    listen(kill)
    try:
        with pytest.raises(SystemExit):
            run_command(["apply", file, "--execute"])
    finally:
        listen(None)
    capsys.readouterr()


def test_a_killed_plan_is_continued(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(root.parent / "plan.json")
    call(capsys, *plan(root, "clone", "--as", "two", "-o", file))
    kill_apply(file, capsys)
    code, said = call(capsys, "apply", file, "--execute")
    assert code == ExitCode.REFUSED
    assert "--continue" in said
    code, said = call(capsys, "apply", file, "--continue")
    assert code == ExitCode.DONE
    assert (root / "two/metadata").exists()


def test_what_is_continued_and_what_cannot_be_undone_is_json_when_asked(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(root.parent / "plan.json")
    call(capsys, *plan(root, "clone", "--as", "two", "-o", file))
    kill_apply(file, capsys)
    code, said = call(capsys, "apply", file, "--continue", "--format", "json")
    found = json.loads(said)
    assert (code, found["format"]) == (ExitCode.DONE, "holdfast.applied")
    (root / "two/metadata").write_text("{}")
    code, said = call(capsys, "undo", found["journal"], "--format", "json")
    found = json.loads(said)
    assert (code, found["format"]) == (ExitCode.REFUSED, "holdfast.no-plan")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rewind", "--to-batch", "3"), "goes back to batch 3"),
        (("replay", "--output", "keep"), "--allow repeats-data:readings"),
        (("move", "--to", "/elsewhere"), "Move readings to /elsewhere"),
        (("retire",), "ends for good"),
        (("reset", "--from", "here", "--output", "keep-from-here"), "exactly where the sinks end"),
    ],
)
def test_what_a_plan_does_is_its_first_line_or_below_it(  # noqa: PLR0917 - fixtures
    root: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    code, said = call(capsys, *plan(root, *words))
    assert code == ExitCode.DONE
    assert "Nothing has been changed." in said.splitlines()[0]
    assert says in said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("rewind", "--to-batch", "99"), ExitCode.REFUSED),
        (("prune", "--older-than", "30"), ExitCode.DONE),
        (("restore", "--snapshot", "none"), ExitCode.REFUSED),
        (("snapshot", "--name", "Not a name"), ExitCode.REFUSED),
        (("clone", "--as", STREAM), ExitCode.REFUSED),
        (
            ("reset", "--from", "7", "--output", "truncate"),
            ExitCode.REFUSED,
        ),
        (
            ("reset", "--from", "here", "--output", "truncate", "--output-of", "x"),
            ExitCode.USAGE,
        ),
    ],
)
def test_no_plan_says_why(  # noqa: PLR0917 - fixtures
    root: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: ExitCode
) -> None:
    found, said = call(capsys, *plan(root, *words))
    assert found == code
    assert len(said) > TEN


def test_a_file_that_is_no_plan_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root.parent / "no.json").write_text("{}")
    assert call(capsys, "apply", str(root.parent / "no.json"))[0] == ExitCode.REFUSED
    assert call(capsys, "apply", str(root.parent / "missing.json"))[0] == ExitCode.USAGE
    assert call(capsys, "undo", str(root.parent / "missing"))[0] == ExitCode.REFUSED


def test_a_wait_for_a_lease_is_said_every_ten_seconds_and_its_end_only_comes_nearer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    owner = Owner(host="etl-7", pid=4411)
    lease = Lease(epoch=3, owner=owner, term_s=30, nonce="a", token="b")
    say = _waiting_teller()
    for second in range(25):
        say(
            Waiting(
                stream="readings",
                lease=lease,
                seconds_left=30 - second % 10,
                seconds_waited=second,
                is_renewed=second >= 10,
            )
        )
    begins = "Waiting for the lease of readings, of etl-7/4411, for"
    assert capsys.readouterr().err.splitlines() == [
        f"{begins} 0 s so far. If that driver is gone, the plan goes on in 30 s; if it lives, the "
        "plan ends without a change within 45 s.",
        f"{begins} 10 s so far. That driver is running. Unless it stops, the plan ends without a "
        "change within 35 s.",
        f"{begins} 20 s so far. That driver is running. Unless it stops, the plan ends without a "
        "change within 25 s.",
    ]
