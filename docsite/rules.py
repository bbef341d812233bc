"""The table of all rules, made from the rules: a new rule changes no page but its own."""

from __future__ import annotations

from pathlib import Path

from holdfast.rules import RULES, Rule

PAGES = Path(__file__).parents[1] / "docs/reference/rules"


def rules_table() -> list[str]:
    """Return a table with a row for every rule: its page, what it finds, what it decides."""
    head = ["| Code | What it finds | Severity | Goal |", "| --- | --- | --- | --- |"]
    return [*head, *(_row(rule, PAGES / f"{rule.code}.md") for rule in RULES)]


def _row(rule: Rule, page: Path) -> str:
    found = page.read_text().partition("## What it finds\n\n")[2].partition("\n")[0]
    found = found.replace("](HF", "](rules/HF")  # the table is one directory above the pages
    shown = f"[{rule.code}](rules/{rule.code}.md) {rule.name}"
    return f"| {shown} | {found} | {rule.severity} | {rule.goal} |"
