"""Every rule there is, found by walking this package: a new rule is a new module, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule

_PACKAGE = "holdfast.rules"
_RULE_MODULE = re.compile(r"hf[0-9]{3}_[a-z0-9_]+")


def find_rules() -> tuple[Rule, ...]:
    """Return the rule of every module `hf<code>_<name>` on the package's path, by code.

    Directories, wheels and zip archives are walked alike.
    """
    names = (module.name for module in iter_modules(import_module(_PACKAGE).__path__))
    modules = (
        import_module(f"{_PACKAGE}.{name}") for name in names if _RULE_MODULE.fullmatch(name)
    )
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))


RULES: tuple[Rule, ...] = find_rules()


def judge(evidence: StreamEvidence, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Return what every rule finds, in the order of the rules' codes."""
    return tuple(finding for rule in rules for finding in rule.judge(evidence))
