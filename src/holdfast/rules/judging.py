"""Judging a case: what every rule finds, and what becomes of a rule that fails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal
from holdfast.rules.catalogue import RULES
from holdfast.rules.rule import Finding, Rule

_ADDRESS, _LONGEST = re.compile(r"0x[0-9a-fA-F]+"), 200


def judge(case: Case, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Return what every rule finds, in the order of the rules' codes."""
    return tuple(finding for rule in rules for finding in rule.judge(case))


def judge_or_ask(case: Case, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Return what every rule finds; a rule that fails becomes a finding that asks.

    One bug must not stop every start, and what a rule would have said must not count as fine.
    """
    return tuple(finding for rule in rules for finding in _judge_or_ask(rule, case))


def _stable(error: Exception) -> str:
    """Return what an error says, the same at every start: a nonce follows from it."""
    return _ADDRESS.sub("0x…", f"{type(error).__name__}: {error}"[:_LONGEST])


def _judge_or_ask(rule: Rule, case: Case) -> Iterator[Finding]:
    try:
        yield from tuple(rule.judge(case))
    except Exception as error:  # noqa: BLE001 - a bug can raise anything
        found = rule.find(
            what=f"{rule.code} was not judged: the rule itself failed "
            f"({_stable(error)}). What it looks for is not known.",
            how=f"Report this as a bug in Holdfast. `holdfast rules explain {rule.code}` says what "
            "the rule looks for: check that yourself before you start.",
            accepting="nothing has looked for what this rule finds",
            follows_from=(f"the rule {rule.code}",),
        )
        yield replace(found, confidence=Confidence.UNKNOWN, effect=Effect.NONE, goal=Goal.NONE)
