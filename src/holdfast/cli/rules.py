"""`holdfast rules list`, `holdfast rules explain CODE`: every rule, and what it means."""

from __future__ import annotations

import json
import re

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.cli.sarif import say
from holdfast.cli.table import columns
from holdfast.errors import ConfigError
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.rule import LintRule
from holdfast.rules import Rule, load_catalogue

AnyRule = Rule | LintRule

_RULE_LINK = re.compile(r"\[([^\]]*)\]\(HF[0-9]{3}\.md\)")
_DOCS_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?:docs/)?([^)]*)\)")


@click.group()
def rules() -> None:
    """List the rules, and explain one."""


@rules.command("list")
@with_format
def list_rules(*, form: str) -> ExitCode:
    """List every rule of `diagnose`, `check` and `lint`."""
    every: list[AnyRule] = [*load_catalogue().rules, *LINT_RULES]
    if form == "json":
        told = {"format": "holdfast.rules", "version": 1, "rules": [*map(_form, every)]}
        click.echo(json.dumps(told, indent=2))
    else:
        rows = [(each.code, each.name, each.severity, each.confidence, _by(each)) for each in every]
        for line in columns(rows):
            click.echo(line)
        click.echo(f"{len(every)} rules. `holdfast rules explain CODE` explains one.")
    for each in load_catalogue().not_loaded:
        click.echo(f"Not loaded: {say(each)}.", err=True)
    return ExitCode.DONE


@rules.command()
@click.argument("code")
@with_format
def explain(*, code: str, form: str) -> ExitCode:
    """Say what the rule CODE finds, what Spark does then, and what to do."""
    every: list[AnyRule] = [*load_catalogue().rules, *LINT_RULES]
    wanted = code.upper()
    rule = next((each for each in every if wanted in (each.code, each.name.upper())), None)
    if rule is None:
        raise ConfigError(f"There is no rule {code}. `holdfast rules list` has them all.")
    if form == "json":
        told = {"format": "holdfast.rule", "version": 1, **_form(rule), "page": rule.page}
        click.echo(json.dumps(told, indent=2))
    else:
        grades = f"{rule.severity}, {rule.confidence}, looks at: {_by(rule)}"
        click.echo(f"{rule.code} {rule.name}  ({grades})\n\n{_for_terminal(rule.page)}")
    return ExitCode.DONE


def _for_terminal(page: str) -> str:
    """Return a page whose links can be followed from a terminal: a rule, or a file of the docs."""
    without_rules = _RULE_LINK.sub(r"\1", page)
    return _DOCS_LINK.sub(r"\1 (docs/\2)", without_rules)


def _by(rule: AnyRule) -> str:
    return rule.needs.value if isinstance(rule, Rule) else "code"


def _form(rule: AnyRule) -> dict[str, str]:
    common = {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "confidence": rule.confidence.value,
        "looksAt": _by(rule),
    }
    if isinstance(rule, Rule):
        common |= {"effect": rule.effect.value, "goal": rule.goal.value}
    return common
