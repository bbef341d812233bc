"""The samples that people paste, each a file, with what lint says to it in one table."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.files import check_paths
from tests.house.repository import ROOT

SAMPLES = Path(__file__).parent / "samples"
VERDICTS: list[dict[str, Any]] = tomllib.loads((SAMPLES / "verdicts.toml").read_text())["sample"]
PAGE = (ROOT / "docs/explanation/what-the-web-says.md").read_text()


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: verdict["file"])
def test_a_sample_gets_its_verdict(verdict: dict[str, Any]) -> None:
    """Those of one directory are checked together, as the files of one repository."""
    path = SAMPLES / verdict["file"]
    place = path if path.parent == SAMPLES else path.parent
    (report,) = (each for each in check_paths((str(place),)) if each.path == str(path))
    assert report.unreadable is None
    assert [f"{each.finding.code} {each.line}" for each in report.findings] == verdict["finds"]


def test_every_sample_has_a_verdict_and_there_are_at_least_40() -> None:
    files = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.py"))
    assert sorted(verdict["file"] for verdict in VERDICTS) == files
    assert len(files) >= 40


def test_every_rule_that_a_sample_is_for_has_right_and_wrong_forms() -> None:
    found = {each.partition(" ")[0] for verdict in VERDICTS for each in verdict["finds"]}
    assert found <= {rule.code for rule in LINT_RULES}
    assert {"HF803", "HF804", "HF806", "HF811", "HF814", "HF816", "HF817", "HF822"} <= found
    assert sum(not verdict["finds"] for verdict in VERDICTS) >= 15


def test_every_claim_with_code_on_the_page_has_a_sample() -> None:
    headings = {line[3:].replace('"', "") for line in PAGE.splitlines() if line.startswith("## ")}
    named = {verdict["page"] for verdict in VERDICTS if "page" in verdict}
    assert named <= headings
    # Claims about files of a checkpoint and about memory have no code to judge.
    about_files = {heading for heading in headings if "`" in heading or "memory" in heading}
    assert headings - named - about_files == {"What lint says to these samples"}


def test_the_page_lists_the_samples_with_their_verdicts() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `") and ".py`" in line]
    assert rows == [row_of(verdict) for verdict in VERDICTS]


def row_of(verdict: dict[str, Any]) -> str:
    """Return the row of a sample: its file, what it does, and what lint finds."""
    says = (SAMPLES / verdict["file"]).read_text().partition("\n")[0].removeprefix("# ")
    codes = list(dict.fromkeys(each.partition(" ")[0] for each in verdict["finds"]))
    linked = ", ".join(f"[{code}](../reference/rules/{code}.md)" for code in codes)
    return f"| `{verdict['file']}` | {says} | {linked or 'no finding'} |"
