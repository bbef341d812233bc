"""What a first user met: places without a checkpoint, plans used twice, entries made up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.errors import JournalError, NotAllowedError
from holdfast.apply.rehearse import rehearse
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.apply.undo import plan_undo
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.errors import ConfigError
from holdfast.ids import BatchId
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.store import Since, Unreadable
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Need, NoPlan, Plan, encode_plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import Permission
from tests.docs.repair_root import NEWEST, STREAM
from tests.unit.apply.plans import dying
from tests.unit.apply.test_goals import GOALS, Bench, bench, delete

__all__ = ["bench"]
RESUME = Request(goal="resume")


def end_of(bench: Bench, batch: int) -> str | None:
    raw = (bench.root / STREAM / f"offsets/{batch}").read_bytes()
    entry = parse_offset_entry("offsets", BatchId(batch), raw)
    assert isinstance(entry, OffsetEntry)
    return entry.offsets[0].text


def test_a_good_entry_beside_a_damaged_one_stays_as_it_is(bench: Bench) -> None:
    ends = [end_of(bench, batch) for batch in (NEWEST - 1, NEWEST)]
    newest = bench.root / STREAM / f"offsets/{NEWEST}"
    newest.write_bytes(newest.read_bytes()[:20])
    bench.apply(bench.planned(RESUME))
    assert [end_of(bench, batch) for batch in (NEWEST - 1, NEWEST)] == ends
    back = bench.planned(Request(goal="rewind", batch=NEWEST - 1, output="restore"))
    bench.apply(back)
    assert not (bench.root / f"{STREAM}.g2/sources/0/{NEWEST}").exists()


def test_nothing_goes_back_to_an_entry_that_was_made_up(bench: Bench) -> None:
    for log in ("offsets", "commits"):
        assert (bench.root / STREAM / f"{log}/{NEWEST - 1}").exists()
    (bench.root / STREAM / f"offsets/{NEWEST - 1}").unlink()
    bench.apply(bench.planned(RESUME))
    assert not (bench.root / STREAM / f"commits/{NEWEST - 1}").exists()
    found = bench.plan(Request(goal="rewind", batch=NEWEST - 1, output="keep"))
    assert isinstance(found, NoPlan)


@pytest.mark.parametrize("output", ["truncate", "new-table"])
def test_rows_that_are_taken_away_and_not_read_again_must_be_allowed(
    bench: Bench, output: str
) -> None:
    plan = bench.planned(Request(goal="reset", start="here", output=output))
    assert f"skips-data:{STREAM}" in plan.words
    assert [each.kind for each in plan.impact[0].changes] == ["skips"]
    whole = bench.planned(Request(goal="reset", start="earliest", output=output))
    assert f"skips-data:{STREAM}" not in whole.words
    (bench.home / "in/003.json").unlink()
    lost = bench.planned(Request(goal="reset", start="earliest", output=output))
    (change,) = lost.impact[0].changes
    assert (change.kind, change.amount, change.unit) == ("loses", 1, "file")
    assert f"skips-data:{STREAM}" in lost.words


@pytest.mark.parametrize(
    "request_", [RESUME, GOALS["replay"][0], GOALS["snapshot"][0], GOALS["clone"][0]]
)
def test_a_place_without_a_checkpoint_is_not_fine(tmp_path: Path, request_: Request) -> None:
    found = make_plan(request_, DiagnoseRequest(location=str(tmp_path / "orders")))
    assert isinstance(found, NoPlan)
    assert not found.is_fine
    assert "There is no checkpoint" in found.reason


@pytest.mark.parametrize("goal", ["snapshot", "clone", "move"])
def test_a_deleted_checkpoint_is_not_copied(bench: Bench, goal: str) -> None:
    delete(bench)
    found = bench.plan(Request(goal=goal, target=str(bench.home / "x") if goal == "move" else "x"))
    assert isinstance(found, NoPlan)
    assert "plan resume" in found.nearest


def test_a_stream_that_has_run_and_left_nothing_is_not_fine(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete(bench)
    monkeypatch.setattr(bench.ledger, "read", lambda _: None)  # another database answers
    found = bench.plan(RESUME)
    assert isinstance(found, NoPlan)
    assert not found.is_fine
    assert "right address" in found.reason


def test_a_plan_that_is_half_applied_is_named_by_the_next_plan(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> bool:
        raise KeyboardInterrupt

    plan = bench.planned(GOALS["reset"][0])
    with monkeypatch.context() as patched:
        patched.setattr(bench.ledger, "settle", die)
        with dying(), pytest.raises(KeyboardInterrupt):
            bench.apply(plan)
    for request in (RESUME, GOALS["reset"][0]):
        found = bench.plan(request)
        assert isinstance(found, NoPlan)
        assert plan.id in found.nearest
        assert found.nearest.endswith("--continue")


def test_a_plan_that_was_taken_back_is_not_continued_and_not_taken_back_again(
    bench: Bench,
) -> None:
    plan = bench.planned(GOALS["reset"][0])
    journal = bench.apply(plan)
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan)
    undone = bench.apply(undo)
    with pytest.raises(JournalError, match="undone"):
        continue_plan(plan, Stores())
    again = plan_undo(journal, Stores())
    assert isinstance(again, NoPlan)
    assert "taken back already" in again.reason
    bench.ledger.written = Since(own_rows=12)  # those that came back
    redo = plan_undo(undone, Stores())
    assert isinstance(redo, Plan)
    assert redo.words == (f"destructive:{STREAM}",)
    bench.apply(redo)
    assert isinstance(plan_undo(journal, Stores()), Plan | NoPlan)
    assert continue_plan(plan, Stores()) == journal


def test_a_clone_is_taken_back_after_the_original_has_run(bench: Bench) -> None:
    before = set(bench.files())
    journal = bench.apply(bench.planned(GOALS["clone"][0]))
    ran = bench.root / STREAM / f"offsets/{NEWEST + 1}"
    shutil.copy(bench.root / STREAM / f"offsets/{NEWEST}", ran)
    undo = plan_undo(journal, Stores())
    assert isinstance(undo, Plan), undo
    bench.apply(undo)
    assert set(bench.files()) == before | {f"{STREAM}/offsets/{NEWEST + 1}"}


def test_a_sink_that_cannot_be_read_from_here_is_not_called_a_change(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, before = bench.planned(GOALS["reset"][0]), bench.files()
    error = ConfigError("The environment variable DSN is not set.")
    monkeypatch.setattr(bench.ledger, "read", lambda _: Unreadable.by(error))
    for act in (lambda: bench.apply(plan), lambda: rehearse(plan, RehearsalStores())):
        with pytest.raises(ConfigError, match="DSN is not set"):
            act()
    assert bench.files() == before
    assert bench.ledger.settled == []


def test_a_refusal_names_every_reason(bench: Bench) -> None:
    plan = bench.planned(GOALS["reset"][0])
    more = tuple(
        Need(permission=Permission.DESTRUCTIVE, stream=STREAM, why=f"The table {name} is emptied.")
        for name in ("gold", "latest")
    )
    with pytest.raises(NotAllowedError) as refused:
        apply_plan(msgspec.structs.replace(plan, needs=more), Stores(), allowed=())
    assert "table gold is emptied" in refused.value.why
    assert "table latest is emptied" in refused.value.why


def test_no_plan_takes_the_place_of_the_plan_before(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    file = bench.home / "plan.json"
    file.write_bytes(encode_plan(bench.planned(GOALS["reset"][0])))
    given = ["--root", str(bench.root), "-o", str(file)]
    assert (
        run_command(["plan", "restore", STREAM, "--snapshot", "never", *given]) == ExitCode.REFUSED
    )
    assert run_command(["apply", str(file), "--format", "json"]) == ExitCode.REFUSED
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (said["format"], said["code"]) == ("holdfast.error", "PLAN_FILE")
    assert said["exit_code"] == ExitCode.REFUSED


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("destructve:readings", "there is no permission 'destructve'"),
        ("destructive:reading", "the plan does not change a stream reading, but readings"),
        ("destructive", "it names no stream"),
        ("readings", "there is no permission 'readings'"),
    ],
)
def test_a_word_that_allows_nothing_is_a_mistake(
    bench: Bench, capsys: pytest.CaptureFixture[str], *, word: str, why: str
) -> None:
    plan, file = bench.planned(GOALS["reset"][0]), bench.home / "plan.json"
    file.write_bytes(encode_plan(plan))
    assert run_command(["apply", str(file), "--execute", "--allow", word]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert f"--allow {word} allows nothing here: {why}." in said
    is_near = word.startswith("destruct")
    assert ("Did you mean --allow destructive:readings?" in said) is is_near
    assert bench.ledger.settled == []


@pytest.mark.parametrize("days", ["-5", "99999999999"])
def test_days_have_bounds(bench: Bench, days: str) -> None:
    given = ["--root", str(bench.root), "--older-than", days]
    assert run_command(["plan", "prune", STREAM, *given]) == ExitCode.USAGE
