"""Every rule of lint, found by walking its package: a new rule is a new module, nothing else."""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import iter_modules

from holdfast.lint.rule import LintRule

_PACKAGE = "holdfast.lint.rules"
_RULE_MODULE = re.compile(r"hf[0-9]{3}_[a-z0-9_]+")


def find_lint_rules() -> tuple[LintRule, ...]:
    """Return the rule of every module `hf<code>_<name>` of the package, by code."""
    names = (module.name for module in iter_modules(import_module(_PACKAGE).__path__))
    modules = (
        import_module(f"{_PACKAGE}.{name}") for name in names if _RULE_MODULE.fullmatch(name)
    )
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))


LINT_RULES: tuple[LintRule, ...] = find_lint_rules()
