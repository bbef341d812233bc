"""A rule that is certain of lost, altered or repeated data, or of a failing start, is shown."""

from __future__ import annotations

from campaigns.situations.families import find_situations
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.grades import Confidence, Severity
from holdfast.rules import RULES, Needs

ELSEWHERE = {"HF402": "tests/spark/test_changed_source.py"}
"""Shown on real Spark by a test of its own."""


def test_a_grave_rule_that_is_certain_has_a_situation_or_a_prediction() -> None:
    situations = {each.code for each in find_situations()}
    predicted = {code.value for code in RefusalCode}  # compared by `python -m lab predictions`
    certain = {
        rule.code
        for rule in RULES
        if rule.severity in (Severity.DATA_AT_RISK, Severity.BLOCKS_RESTART)
        and rule.confidence is Confidence.CERTAIN
        and rule.needs is not Needs.STREAM  # ledgers: their own tests and drills
    }
    assert certain - situations - predicted - set(ELSEWHERE) == set()


def test_a_situation_is_of_a_rule_that_there_is() -> None:
    assert {each.code for each in find_situations()} <= {rule.code for rule in RULES}
