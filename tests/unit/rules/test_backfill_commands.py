"""The backfills that findings print are commands, and only where there can be one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from holdfast.cli.main import holdfast
from holdfast.rules import RULES, Rule
from holdfast.testing.case_form import STREAM, RuleCase
from holdfast.testing.rule_cases import make_case, read_cases

CASES = Path(__file__).parent / "cases"
PRINTED = re.compile(r"`(holdfast backfill [^`]+)`")
ON_PAGE = re.compile(r"^holdfast backfill .*$", re.MULTILINE)
WITH_PAGE = [rule for rule in RULES if ON_PAGE.search(rule.page)]


def printed(rule: Rule, case: RuleCase) -> list[str]:
    return [each for found in rule.judge(make_case(case)) for each in PRINTED.findall(found.how)]


def cases_of(rule: Rule) -> list[RuleCase]:
    path = CASES / f"{rule.code}.toml"
    return list(read_cases(path.read_text())) if path.exists() else []


OFFERED = [
    (rule, case, command)
    for rule in RULES
    for case in cases_of(rule)
    for command in printed(rule, case)
]


def parse(command: str) -> dict[str, object]:
    """Parse a command, without running it, and return what it was given."""
    _, name, *words = shlex.split(command)
    found = holdfast.get_command(click.Context(holdfast), name)
    assert found is not None
    return found.make_context(name, words).params


def test_rules_that_offer_a_backfill() -> None:
    codes = {rule.code for rule, _, _ in OFFERED}
    assert codes == {"HF211", "HF329", "HF330", "HF406", "HF407", "HF708"}
    assert codes == {rule.code for rule in WITH_PAGE}


@pytest.mark.parametrize("command", sorted({command for _, _, command in OFFERED}))
def test_a_command_can_be_parsed_and_names_the_stream(command: str) -> None:
    assert parse(command)["stream"] == STREAM


@pytest.mark.parametrize("rule", WITH_PAGE, ids=lambda rule: rule.code)
def test_a_command_on_a_page_can_be_parsed(rule: Rule) -> None:
    for command in ON_PAGE.findall(rule.page):
        parse(command)


def test_a_bare_checkpoint_and_a_query_with_state_are_offered_none() -> None:
    for _, case, _ in OFFERED:
        assert not case.is_bare
        assert not make_case(case).is_stateful


def test_the_range_is_named_where_it_is_known() -> None:
    (passed,) = {command for rule, _, command in OFFERED if rule.code == "HF211"}
    given = parse(passed)
    assert (given["start"], given["end"]) == ('{"topic":{"0":20}}', '{"topic":{"0":40}}')
    (gap,) = {command for rule, _, command in OFFERED if rule.code == "HF708"}
    assert parse(gap)["end"] == '{"topic":{"0":7}}'


def test_a_command_that_is_none_is_found() -> None:
    with pytest.raises(click.NoSuchOption):
        parse(f"holdfast backfill MODULE:PIPELINE {STREAM} --until OFFSETS")
