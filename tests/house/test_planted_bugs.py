"""The bugs that are planted still fit the source, and the page names every one of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.planted.bug import Bug, Edit, RottenError, edited_files, read_bugs, rows_of
from holdfast.drills.builtin.cells import CELLS
from holdfast.drills.checks import CHECKS
from tests.house.repository import ROOT

BUGS = read_bugs()
PAGE = (ROOT / "docs/contributing/planted-bugs.md").read_text()


def test_there_are_twenty() -> None:
    assert len(BUGS) == 20


@pytest.mark.parametrize("bug", BUGS.values(), ids=list(BUGS))
def test_every_edit_still_fits_and_leaves_code(bug: Bug) -> None:
    for file, text in edited_files(bug).items():
        compile(text, file, "exec")


def test_every_edit_names_only_what_is_there(tmp_path: Path) -> None:
    """A name that is gone ends the code in an error, and no check finds that it is wrong."""
    for bug in BUGS.values():
        for file, text in edited_files(bug).items():
            planted = tmp_path / bug.name / file
            planted.parent.mkdir(parents=True, exist_ok=True)
            planted.write_text(text)
    words = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", str(tmp_path)]
    found = subprocess.run(words, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize("bug", BUGS.values(), ids=list(BUGS))
def test_what_must_find_it_is_there(bug: Bug) -> None:
    assert bug.checks
    for check in bug.checks:
        if check.drill:
            assert check.drill in CELLS
            assert check.check in CHECKS
        else:
            path, _, name = check.test.partition("::")
            assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_the_page_has_the_table_as_it_is_printed() -> None:
    assert [line for line in PAGE.splitlines() if line.startswith("| `")] == list(
        rows_of(BUGS.values())
    )


@pytest.mark.parametrize("text", ["nothing of it", "one = 1\none = 1\n"])
def test_an_edit_that_does_not_fit_once_is_refused(text: str) -> None:
    with pytest.raises(RottenError):
        Edit(file="some.py", old="one = 1\n", new="one = 2\n").apply(text)
