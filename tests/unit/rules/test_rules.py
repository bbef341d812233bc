"""Every rule, found without a list: it has its page and its cases, and they are true."""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path

import pytest

from docsite.rule_pages import TO_DOCS
from holdfast.grades import Goal, Severity
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.rule import LintRule
from holdfast.rules import RULES, Needs, Rule, rules_for
from holdfast.testing.rule_cases import (
    RowCase,
    RuleCase,
    SinkCase,
    find_differences,
    findings_in,
    make_case,
    read_cases,
)
from tests.house.repository import ROOT

CASES = Path(__file__).parent / "cases"
PAGES, LINT_PAGES = (ROOT / f"src/holdfast/{each}/pages" for each in ("rules", "lint"))
LINK = re.compile(r"\]\(([^)#]*)")
HEADINGS = ["What it finds", "What Spark does", "What to do"]
MORE = ["What accepting does", "What it cannot see"]
LAST = "Where this comes from"


def code_of(rule: Rule | LintRule) -> str:
    return rule.code


def cases_of(rule: Rule) -> tuple[RuleCase, ...]:
    path = CASES / f"{rule.code}.toml"
    return read_cases(path.read_text()) if path.exists() else ()


@pytest.mark.parametrize("rule", RULES, ids=code_of)
def test_a_rule_has_a_case_that_fires_and_a_near_miss(rule: Rule) -> None:
    cases = cases_of(rule)
    assert any(case.finds for case in cases), f"no case in cases/{rule.code}.toml fires"
    assert any(not case.finds for case in cases), f"no near miss in cases/{rule.code}.toml"


@pytest.mark.parametrize(
    ("rule", "case"),
    [
        pytest.param(rule, case, id=f"{rule.code} {case.name}")
        for rule in RULES
        for case in cases_of(rule)
    ],
)
def test_a_case_finds_what_it_says(rule: Rule, case: RuleCase) -> None:
    assert find_differences(rule, case) == []


@pytest.mark.parametrize("rule", [*RULES, *LINT_RULES], ids=code_of)
def test_the_text_of_a_rule_is_its_page(rule: Rule | LintRule) -> None:
    headings = re.findall(r"^## (.*)$", rule.page, re.MULTILINE)
    assert headings[: len(HEADINGS)] == HEADINGS
    assert headings[len(HEADINGS) :] == [*(each for each in MORE if each in headings), LAST]


@pytest.mark.parametrize("rule", [*RULES, *LINT_RULES], ids=code_of)
def test_a_page_has_the_name_of_its_rule_and_links_that_work_where_it_is(
    rule: Rule | LintRule,
) -> None:
    home = PAGES if isinstance(rule, Rule) else LINT_PAGES
    page = (home / f"{rule.code}.md").read_text()
    assert page.startswith(f"# {rule.code} {rule.name}\n\n## What it finds\n")
    for link in LINK.findall(page):
        assert link.startswith("http") or (home / link).exists(), link
        assert link.startswith((TO_DOCS, "HF", "http")), link


@pytest.mark.parametrize("rule", RULES, ids=code_of)
def test_what_is_more_than_a_note_has_a_goal(rule: Rule) -> None:
    assert rule.severity is Severity.NOTE or rule.goal is not Goal.NONE


@pytest.mark.parametrize("rule", RULES, ids=code_of)
def test_what_refuses_a_start_says_what_accepting_does(rule: Rule) -> None:
    is_grave = rule.severity in (Severity.DATA_AT_RISK, Severity.BLOCKS_RESTART)
    if is_grave and rule.needs in (Needs.STREAM, Needs.QUERY):
        assert "## What accepting does" in rule.page


@pytest.mark.parametrize("rule", RULES, ids=code_of)
def test_a_rule_is_a_value_with_the_name_of_its_function(rule: Rule) -> None:
    assert pickle.loads(pickle.dumps(rule)) is rule
    module = sys.modules[rule.judge.__module__]
    assert getattr(module, rule.name.replace("-", "_")) is rule
    assert module.__name__.startswith(f"holdfast.rules.{rule.needs}.")


def test_codes_and_names_are_given_once() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_no_page_and_no_file_of_cases_is_without_its_rule() -> None:
    codes = {rule.code for rule in RULES}
    linted = {rule.code for rule in LINT_RULES}
    assert {path.stem for path in PAGES.glob("*.md")} == codes
    assert {path.stem for path in LINT_PAGES.glob("*.md")} == linted
    assert not codes & linted
    assert {path.stem for path in CASES.iterdir()} == codes


def case(name: str, last_batch: int, *, planned: int, committed: int) -> RuleCase:
    sinks = (SinkCase(row=RowCase(last_batch=last_batch)),)
    return RuleCase(name=name, planned=planned, committed=committed, sinks=sinks, finds=())


FINE = (
    case("never run", -1, planned=-1, committed=-1),
    RuleCase(name="no row, and never run", finds=()),
    case("everything has arrived", 4, planned=4, committed=4),
    case("killed before the sink had it", 3, planned=4, committed=3),
    case("killed before commits/4", 4, planned=4, committed=3),
)


@pytest.mark.parametrize("found", FINE, ids=lambda found: found.name)
def test_what_a_kill_leaves_is_fine_for_every_rule(found: RuleCase) -> None:
    assert findings_in(make_case(found)) == ()


def test_both_answers_to_a_pending_batch_answer_the_same_question() -> None:
    adopted = RuleCase(name="pending", planned=4, committed=3, adopted_at=4, finds=())
    found = findings_in(make_case(adopted))
    assert [finding.code for finding in found] == ["HF610", "HF611", "HF612"]
    assert found[0].question is None
    assert found[1].question == found[2].question is not None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[case]]\nname = 'misspelt'\nplaned = 4\nfinds = []", "planed"),
        ("[[case]]\nname = 'nothing expected'\nplanned = 4", "finds"),
        ("[[case]", "line 1"),
    ],
)
def test_a_case_that_would_show_nothing_is_an_error(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        read_cases(text)


@pytest.mark.parametrize("rule", RULES, ids=code_of)
def test_a_rule_is_left_out_only_where_it_finds_nothing(rule: Rule) -> None:
    for case in (make_case(each) for each in cases_of(rule)):
        assert findings_in(case, rules_for(case)) == findings_in(case)
