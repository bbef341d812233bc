"""The table of all rules, made from the rules: a new rule changes no page but its own."""

from __future__ import annotations

from pathlib import Path

from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.rule import LintRule
from holdfast.rules import RULES, Rule

PAGES = Path(__file__).parents[1] / "docs/reference/rules"


def rules_table() -> list[str]:
    """Return a table with a row for every rule: its page, what it finds, what it decides."""
    head = ["| Code | What it finds | Severity | Goal |", "| --- | --- | --- | --- |"]
    return [*head, *map(_row, RULES)]


def lint_table() -> list[str]:
    """Return a table with a row for every rule of lint."""
    head = ["| Code | What it finds | Severity | Confidence |", "| --- | --- | --- | --- |"]
    rows = [
        f"| [{rule.code}](rules/{rule.code}.md) {rule.name} | {_found(rule)} "
        f"| {rule.severity} | {rule.confidence} |"
        for rule in LINT_RULES
    ]
    return [*head, *rows]


def _row(rule: Rule) -> str:
    shown = f"[{rule.code}](rules/{rule.code}.md) {rule.name}"
    return f"| {shown} | {_found(rule)} | {rule.severity} | {rule.goal} |"


def _found(rule: Rule | LintRule) -> str:
    """Return the first paragraph of what a rule finds, for a page one directory above."""
    found = rule.page.partition("## What it finds\n\n")[2].partition("\n\n")[0]
    return (
        " ".join(found.split())
        .replace("](HF", "](rules/HF")
        .replace("](../../../../docs/", "](../")
    )
