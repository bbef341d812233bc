"""What the documentation says about all rules, made from the rules: their table and their menu.

MkDocs runs this at every build (`hooks` in mkdocs.yml), so that a new rule changes neither page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.rules import RULES, Rule

INDEX = "reference/rules.md"
TABLE = "<!-- rules -->"
MENU = "reference/rules/*"


def on_config(config: Any) -> Any:
    """Put a page for every rule where the menu says `reference/rules/*`."""
    pages = [f"reference/rules/{rule.code}.md" for rule in RULES]
    config.nav = expand(config.nav, pages)
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001 - MkDocs gives them by name
    """Put the table of all rules where the index says `<!-- rules -->`."""
    if page.file.src_uri != INDEX:
        return markdown
    return markdown.replace(TABLE, make_table(Path(config.docs_dir) / "reference/rules"))


def expand(nav: Any, pages: list[str]) -> Any:
    """Return a menu in which the pages of the rules stand in the place of their pattern."""
    if isinstance(nav, list):
        return [expand(each, pages) for each in nav]
    if isinstance(nav, dict):
        return {
            name: list(pages) if each == MENU else expand(each, pages) for name, each in nav.items()
        }
    return nav


def make_table(pages: Path) -> str:
    """Return a row for every rule: its page, what it finds, what it decides."""
    rows = [
        "| Code | What it finds | Severity | Confidence | Goal |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*rows, *(_row(rule, pages / f"{rule.code}.md") for rule in RULES)])


def _row(rule: Rule, page: Path) -> str:
    found = page.read_text().partition("## What it finds\n\n")[2].partition("\n")[0]
    shown = f"[{rule.code}](rules/{rule.code}.md) {rule.name}"
    return f"| {shown} | {found} | {rule.severity} | {rule.confidence} | {rule.goal} |"
