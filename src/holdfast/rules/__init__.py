"""Rules: from what is known of a stream to what a start would lose or duplicate."""

from __future__ import annotations

from holdfast.rules.catalogue import RULES, find_rules, judge
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity

__all__ = ["RULES", "Confidence", "Finding", "Goal", "Rule", "Severity", "find_rules", "judge"]
