"""Rules: from what is known of a stream to what would lose or double data."""

from __future__ import annotations

from holdfast.rules.catalogue import RULES, judge
from holdfast.rules.rule import Finding, Rule

__all__ = ["RULES", "Finding", "Rule", "judge"]
