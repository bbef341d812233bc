"""What is told when a plan has ended: the truth, as a command that can be run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from holdfast.apply import leases
from holdfast.apply.errors import InterruptedPlanError, UnfinishedRepairError
from holdfast.cli.apply import run_plan
from holdfast.errors import HoldfastError, WriteError
from holdfast.streams.refusal import UnfinishedRepairStartError
from tests.unit.apply.plans import apply, four_steps, journal_of, make_root, plan_of

JOURNAL = "/my streams/_holdfast/readings/journal/20260101-000000-00000a"


@pytest.mark.parametrize(
    "error",
    [
        UnfinishedRepairError("readings", goal="reset", journal=JOURNAL),
        InterruptedPlanError(journal=JOURNAL, step="1", why="w"),
        UnfinishedRepairStartError("readings", goal="reset", journal=JOURNAL),
    ],
)
def test_a_journal_with_a_space_is_one_word_of_a_command(error: HoldfastError) -> None:
    assert shlex.split(error.how).count(JOURNAL) == 2


def test_also_after_it_was_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_root(tmp_path / "my streams")
    plan = plan_of(root, *four_steps(root))
    given: dict[str, Any] = dict.fromkeys(("storage_options", "allowed", "roots"), ())
    run_plan(plan, execute=True, kafka_config=None, form="text", **given)
    last = capsys.readouterr().out.splitlines()[-1]
    assert shlex.split(last) == ["Undo:", "holdfast", "undo", str(journal_of(plan).location)]


def test_a_lease_that_cannot_be_released_does_not_make_a_plan_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise WriteError("x", why="w", how="h")

    monkeypatch.setattr(leases, "release", fail)
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    assert apply(plan) == str(journal_of(plan).location)
