"""Rules: from what is known of a stream to what a start would lose or duplicate."""

from __future__ import annotations

from holdfast.rules.catalogue import (
    RULES,
    Catalogue,
    catalogue_for,
    find_rules,
    load_catalogue,
    own_catalogue,
    rules_for,
)
from holdfast.rules.rule import Finding, Needs, Rule, rule

__all__ = [
    "RULES",
    "Catalogue",
    "Finding",
    "Needs",
    "Rule",
    "catalogue_for",
    "find_rules",
    "load_catalogue",
    "own_catalogue",
    "rule",
    "rules_for",
]
