"""Every rule of lint has its page and its cases, and they are true."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest

from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.check import check_file
from holdfast.lint.rule import LintRule

CASES = Path(__file__).parent / "cases"


def cases_of(rule: LintRule) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((CASES / f"{rule.code}.toml").read_text())["case"]
    return found


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        pytest.param(rule, case, id=f"{rule.code} {case['name']}")
        for rule in LINT_RULES
        for case in cases_of(rule)
    ],
)
def test_a_case_finds_what_it_says(rule: LintRule, case: dict[str, Any]) -> None:
    report = check_file("job.py", case["code"].encode())
    assert report.unreadable is None
    assert pickle.loads(pickle.dumps(report)) == report
    found = [each.line for each in report.findings if each.finding.code == rule.code]
    assert found == case["finds"]


@pytest.mark.parametrize("rule", LINT_RULES, ids=lambda rule: rule.code)
def test_a_rule_has_cases(rule: LintRule) -> None:
    cases = cases_of(rule)
    assert any(case["finds"] for case in cases)
    assert any(not case["finds"] for case in cases)
    name = f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    assert rule.judge.__module__ == f"holdfast.lint.rules.{name}"


def test_no_file_of_cases_is_without_its_rule() -> None:
    assert {path.stem for path in CASES.iterdir()} == {rule.code for rule in LINT_RULES}
    assert len({rule.name for rule in LINT_RULES}) == len(LINT_RULES)
