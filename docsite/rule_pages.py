"""`python -m docsite.rule_pages`: puts the page of every rule among the documentation."""

from __future__ import annotations

from docsite.rules import PAGES
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.rule import LintRule
from holdfast.rules import RULES, Rule

LOOKED_AT = {
    "checkpoint": "the checkpoint",
    "stream": "the record and the ledgers of a guarded stream",
    "source": "the source, with `--probe`",
    "output": "the sink, with `--sink`",
    "neighbours": "other checkpoints, with `--among`",
    "history": "Spark's event log, with `--event-log`",
    "query": "the query to start: a guarded start, [`holdfast check`](../../guides/check.md)",
    "error": "an error of Spark, with `--error`",
}
TO_DOCS = "../../../../docs/"
"""From the page of a rule in the package to the documentation."""


def page_of(rule: Rule | LintRule) -> str:
    """Return the page of a rule."""
    title = f"# {rule.code} {rule.name}"
    if isinstance(rule, LintRule):
        head = "| Severity | Confidence | Found by |"
        by = "[`holdfast lint`](../../guides/lint.md)"
        row = f"| {rule.severity} | {rule.confidence} | {by} |"
        columns = "| --- | --- | --- |"
    else:
        head = "| Severity | Confidence | A restart | Goal | Looks at |"
        row = (
            f"| {rule.severity} | {rule.confidence} | {rule.effect} | {rule.goal} "
            f"| {LOOKED_AT[rule.needs]} |"
        )
        columns = "| --- | --- | --- | --- | --- |"
    page = rule.page.replace(f"]({TO_DOCS}", "](../../")
    return "\n".join((title, "", head, columns, row, "", page, ""))


def main() -> None:
    """Write every page; remove those without a rule."""
    rules: list[Rule | LintRule] = [*RULES, *LINT_RULES]
    pages = {PAGES / f"{rule.code}.md": page_of(rule) for rule in rules}
    PAGES.mkdir(exist_ok=True)
    for path in set(PAGES.glob("*.md")) - set(pages):
        path.unlink()
    for path, text in pages.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
