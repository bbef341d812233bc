"""Journals are input like everything in a record: read strictly, and named by their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.apply.errors import JournalError
from holdfast.apply.journal import read_journalled_plan, split_journal
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import Plan
from tests.unit.apply.plans import apply, four_steps, journal_of, kill_at, make_root, plan_of


def applied(root: Path) -> tuple[Plan, Path]:
    plan = plan_of(make_root(root), *four_steps(root))
    return plan, Path(apply(plan))


def test_a_journal_says_what_was_done(tmp_path: Path) -> None:
    plan, home = applied(tmp_path)
    journal = journal_of(plan)
    assert journal.begun() == journal.done() == {1, 2, 3, 4}
    assert journal.ended() == "applied"
    assert {path.name for path in (home / "kept").iterdir()} == {"0001", "0002"}
    assert (home / "kept/0001").read_text() == "torn"


def test_a_journal_is_named_by_its_directory_or_its_plan(tmp_path: Path) -> None:
    plan, home = applied(tmp_path)
    for text in (str(home), f"{home}/", f"{home}/plan.json"):
        record, plan_id = split_journal(text)
        assert plan_id == plan.id
        assert read_journalled_plan(Stores().at(str(record)), plan_id) == plan


@pytest.mark.parametrize("text", ["/journal", "/lake/readings", "/lake/journals/x", "journal"])
def test_another_place_is_no_journal(text: str) -> None:
    with pytest.raises(JournalError, match="not the directory of a journal"):
        split_journal(text)


@pytest.mark.parametrize("raw", [None, b"", b"{", b'{"format": "holdfast.plan", "version": 9}'])
def test_a_journal_whose_plan_cannot_be_read_is_refused(raw: bytes | None, tmp_path: Path) -> None:
    _, home = applied(tmp_path)
    (home / "plan.json").unlink()
    if raw is not None:
        (home / "plan.json").write_bytes(raw)
    record, plan_id = split_journal(str(home))
    with pytest.raises(JournalError):
        read_journalled_plan(Stores().at(str(record)), plan_id)


def test_names_that_are_not_of_the_journal_are_left_alone(tmp_path: Path) -> None:
    plan = plan_of(make_root(tmp_path), *four_steps(tmp_path))
    assert kill_at(12, plan)
    journal = journal_of(plan)
    begun, home = journal.begun(), Path(str(journal.location))
    for name in ("1-done.json", "0009-done.txt", "0009-ended.json", ".0009-done.json", "kept.json"):
        (home / name).write_text("{}")
    assert journal.begun() == begun
    assert 9 not in journal.done()
