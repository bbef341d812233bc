"""Rules: from what is known of a stream to what a start would lose or duplicate."""

from __future__ import annotations

from holdfast.rules.catalogue import (
    RULES,
    Catalogue,
    catalogue_for,
    find_rules,
    load_catalogue,
    rules_for,
)
from holdfast.rules.judging import judge, judge_or_ask
from holdfast.rules.rule import Finding, Needs, Rule, rule

__all__ = [
    "RULES",
    "Catalogue",
    "Finding",
    "Needs",
    "Rule",
    "catalogue_for",
    "find_rules",
    "judge",
    "judge_or_ask",
    "load_catalogue",
    "rule",
    "rules_for",
]
