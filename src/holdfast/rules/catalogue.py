"""Every rule there is: those of this package, and those that other packages bring.

Ours are found by walking the package: a new rule is a new module, nothing else. Another package
names its modules as entry points in the group `holdfast.rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, overload

from holdfast.evidence.case import Case
from holdfast.redact import redact
from holdfast.rules.rule import Finding, Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_PACKAGE = "holdfast.rules"
_RULE_MODULE = re.compile(r"hf[0-9]{3}_[a-z0-9_]+")
_OUR_CODE = re.compile(r"HF[0-9]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What to judge with."""

    rules: tuple[Rule, ...]
    not_loaded: tuple[str, ...] = ()
    """Entries of other packages that are not rules, each with the reason."""


@cache
def find_rules() -> tuple[Rule, ...]:
    """Return the rule of every module `hf<code>_<name>` on the package's path, by code.

    Directories, wheels and zip archives are walked alike.
    """
    names = (module.name for module in iter_modules(import_module(_PACKAGE).__path__))
    modules = (
        import_module(f"{_PACKAGE}.{name}") for name in names if _RULE_MODULE.fullmatch(name)
    )
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))


class OwnRules(Sequence[Rule]):
    """Holdfast's own rules by code, imported when they are first looked at.

    Importing two hundred modules takes longer than reading a small checkpoint, and most commands
    never judge.
    """

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        """Return the rules at a place."""
        return find_rules()[index]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(find_rules())

    def __iter__(self) -> Iterator[Rule]:
        """Go through them by code."""
        return iter(find_rules())


RULES = OwnRules()
"""Holdfast's own: a guarded start judges by these alone."""


@cache
def load_catalogue() -> Catalogue:
    """Return our rules, then those of other packages by the names of their entries.

    They are imported here and not with this module, so that they can import `holdfast.rules`. One
    that cannot be loaded is named, and the others are loaded.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import

    rules, not_loaded = list(RULES), []
    for entry in sorted(entry_points(group=_PACKAGE), key=lambda each: (each.name, each.value)):
        loaded = _load(entry, taken={rule.code for rule in rules})
        if isinstance(loaded, Rule):
            rules.append(loaded)
        else:
            not_loaded.append(f"the rule {entry.name} of another package, {entry.value}: {loaded}")
    return Catalogue(rules=tuple(rules), not_loaded=tuple(not_loaded))


def _load(entry: EntryPoint, *, taken: set[str]) -> Rule | str:
    """Return the rule of an entry, or why it has none."""
    try:
        rule = entry.load().RULE
    except Exception as error:  # noqa: BLE001 - a module of another package can raise anything
        return redact(f"{type(error).__name__}: {error}")
    if not isinstance(rule, Rule):
        return "its RULE is not a holdfast.rules.Rule"
    if _OUR_CODE.fullmatch(rule.code):
        return f"its code {rule.code} is one of Holdfast's; choose another prefix"
    return f"its code {rule.code} is taken already" if rule.code in taken else rule


def judge(case: Case, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Return what every rule finds, in the order of the rules' codes."""
    return tuple(finding for rule in rules for finding in rule.judge(case))
