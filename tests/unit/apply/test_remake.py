"""A plan that comes from a file is made again: what its file says is not believed."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command
from holdfast.plan.plan_file import Plan, encode_plan
from holdfast.plan.remake import is_same
from holdfast.plan.steps import PutFile
from holdfast.record.batches import JournalledBatch
from holdfast.record.documents import encode
from tests.docs.repair_root import STREAM
from tests.unit.apply.test_goals import GOALS, Bench, bench

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is in memory: no session is started for it."""
    monkeypatch.setattr("holdfast.cli.apply.local_session", lambda _: object())


def write(at: Path, plan: Plan) -> str:
    at.write_bytes(encode_plan(plan))
    return str(at)


@pytest.mark.parametrize("name", ["reset-here", "rewind-keep", "snapshot", "clone", "new-table"])
def test_a_plan_as_it_was_made_is_applied(bench: Bench, name: str, tmp_path: Path) -> None:
    plan = bench.planned(GOALS[name][0])
    words = [each for word in plan.words for each in ("--allow", word)]
    file = write(tmp_path / "plan.json", plan)
    assert run_command(["apply", file]) == ExitCode.DONE
    assert run_command(["apply", file, "--execute", *words]) == ExitCode.DONE


def test_a_permission_that_was_taken_out_of_the_file_is_still_needed(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = bench.planned(GOALS["rewind-keep"][0])
    assert plan.words == (f"repeats-data:{STREAM}",)
    before, row = bench.files(), bench.ledger.row
    file = write(tmp_path / "plan.json", msgspec.structs.replace(plan, needs=()))
    assert run_command(["apply", file, "--execute"]) == ExitCode.REFUSED
    assert f"--allow repeats-data:{STREAM}" in capsys.readouterr().err
    assert (bench.files(), bench.ledger.row) == (before, row)


def journalled(plan: Plan, digest: str, *, batch: int = 1) -> Plan:
    """Return the plan with a step that keeps a batch of a digest."""
    kept = JournalledBatch(generation=1, batch=batch, digest=digest, rows="batches/0001-000001-e2")
    step = PutFile(
        stream=STREAM,
        why="The sink that lacks the batch gets the rows that the other sink holds.",
        place=plan.root,
        path=kept.path,
        content=encode(kept).decode(),
        replaces=None,
    )
    return msgspec.structs.replace(plan, steps=(*plan.steps, step))


def test_a_batch_that_is_kept_under_a_new_digest_is_the_same_batch(bench: Bench) -> None:
    plan = bench.planned(GOALS["reset-here"][0])
    first, second = (hashlib.sha256(each).hexdigest() for each in (b"1", b"2"))
    assert is_same(journalled(plan, first), journalled(plan, second))
    assert not is_same(journalled(plan, first), journalled(plan, first, batch=2))
    assert not is_same(journalled(plan, first), plan)


def edited(plan: Plan) -> dict[str, Plan]:
    """Return the plan with something else in its steps."""
    entry = next(
        step for step in plan.steps if isinstance(step, PutFile) and "offsets/" in step.path
    )
    *before, offset = entry.content.splitlines()
    content = "\n".join((*before, re.sub(r"[0-9]+(?=[^0-9]*$)", "7", offset)))
    other = msgspec.structs.replace(entry, content=content)
    assert other != entry
    steps = tuple(other if each == entry else each for each in plan.steps)
    return {
        "another position": msgspec.structs.replace(plan, steps=steps),
        "a step less": msgspec.structs.replace(plan, steps=plan.steps[:-1]),
        "another goal": msgspec.structs.replace(plan, goal="rewind"),
        "nothing was asked for": msgspec.structs.replace(plan, asked=None),
    }


@pytest.mark.parametrize(
    "name", ["another position", "a step less", "another goal", "nothing was asked for"]
)
def test_steps_that_the_same_command_does_not_plan_are_refused(
    bench: Bench, name: str, tmp_path: Path
) -> None:
    plan = bench.planned(GOALS["reset-here"][0])
    before, row = bench.files(), bench.ledger.row
    file = write(tmp_path / "plan.json", edited(plan)[name])
    assert run_command(["apply", file]) == ExitCode.REFUSED
    assert run_command(["apply", file, "--execute"]) == ExitCode.REFUSED
    assert (bench.files(), bench.ledger.row) == (before, row)
