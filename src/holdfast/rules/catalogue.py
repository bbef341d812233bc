"""Every rule there is: those of this package, and those that other packages bring.

Ours are found by walking the package: a new rule is a new module, nothing else. Another package
names its modules as entry points in the group `holdfast.rules`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, overload

from holdfast.evidence.case import Case
from holdfast.redact import redact
from holdfast.rules.rule import Needs, Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_PACKAGE = "holdfast.rules"
_RULE_MODULE = re.compile(r"hf[0-9]{3}_[a-z0-9_]+")
_METADATA = (".dist-info", ".egg-info", "EGG-INFO")
_OUR_CODE = re.compile(r"HF[0-9]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What to judge with."""

    rules: tuple[Rule, ...]
    not_loaded: tuple[str, ...] = ()
    """Entries of other packages that are not rules, each with the reason."""


CODES_NEEDING: Mapping[Needs, str] = {
    Needs.NEIGHBOURS: r"11[5-7]",
    Needs.SOURCE: r"32[0-8]|330|3[4-7]\d",
    Needs.QUERY: r"40\d|410|51\d",
    Needs.STREAM: r"6\d\d",
    Needs.OUTPUT: r"7\d\d|90[136]",
    Needs.ERROR: r"9[23]\d",
}
"""The numbers of rules that need something beside the checkpoint. A rule is not imported where that
is missing: of a bare checkpoint that saves two thirds of the modules. A rule with a number that is
not here is always imported."""


@cache
def find_rules() -> tuple[Rule, ...]:
    """Return the rule of every module `hf<code>_<name>` on the package's path, by code.

    Directories, wheels and zip archives are walked alike.
    """
    return _import_rules(_rule_modules())


def rules_for(case: Case) -> tuple[Rule, ...]:
    """Return our rules that can find something in a case, by code."""
    without = (each for needs, each in CODES_NEEDING.items() if not has(case, needs))
    left_out = re.compile(rf"hf(?:{'|'.join((*without, '(?!)'))})_.*")
    return _import_rules(name for name in _rule_modules() if not left_out.fullmatch(name))


def has(case: Case, needs: Needs) -> bool:
    """Return whether a case has what a rule needs beside the checkpoint."""
    held = {
        Needs.NEIGHBOURS: case.neighbours,
        Needs.SOURCE: case.sources,
        # A guarded start asks Spark for its sources before the query is known in full.
        Needs.QUERY: case.query is not None or case.stream is not None,
        Needs.STREAM: case.stream is not None,
        Needs.OUTPUT: case.outputs or case.flow is not None,
        Needs.ERROR: case.error is not None,
    }
    return bool(held.get(needs, True))


@cache
def _rule_modules() -> tuple[str, ...]:
    names = (module.name for module in iter_modules(import_module(_PACKAGE).__path__))
    return tuple(name for name in names if _RULE_MODULE.fullmatch(name))


def _import_rules(names: Iterable[str]) -> tuple[Rule, ...]:
    modules = (import_module(f"{_PACKAGE}.{name}") for name in names)
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
    """Return our rules, then those of other packages by the names of their entries."""
    return _with_other_packages(RULES)


def catalogue_for(case: Case) -> Catalogue:
    """Return what can find something in a case: ours that apply, and all of other packages."""
    return _with_other_packages(rules_for(case))


def _with_other_packages(ours: Iterable[Rule]) -> Catalogue:
    """Add the rules of other packages to ours.

    They are imported here and not with this module, so that they can import `holdfast.rules`. One
    that cannot be loaded is named, and the others are loaded.
    """
    rules, not_loaded = list(ours), []
    if not _may_have_entries(_PACKAGE):
        return Catalogue(rules=tuple(rules))
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import

    for entry in sorted(entry_points(group=_PACKAGE), key=lambda each: (each.name, each.value)):
        loaded = _load(entry, taken={rule.code for rule in rules})
        if isinstance(loaded, Rule):
            rules.append(loaded)
        else:
            not_loaded.append(f"the rule {entry.name} of another package, {entry.value}: {loaded}")
    return Catalogue(rules=tuple(rules), not_loaded=tuple(not_loaded))


def _may_have_entries(group: str) -> bool:
    """Return whether a package may name something in a group; false only if certainly none does.

    Importing what parses the files of every package takes longer than looking for the word in them.
    """
    finders = (each for each in sys.meta_path if hasattr(each, "find_distributions"))
    if any(each is not PathFinder for each in finders):
        return True
    return any(_names(place or ".", group.encode()) for place in sys.path)


def _names(place: str, group: bytes) -> bool:
    """Return whether metadata of a package in a place names a group, or cannot be looked at."""
    try:
        there = list(os.scandir(place))
    except FileNotFoundError:
        return False
    except OSError:  # an archive, or not ours to read
        return True
    if any(each.name.endswith(".egg") for each in there):
        return True
    for each in (each for each in there if each.name.endswith(_METADATA)):
        try:
            if group in Path(each.path, "entry_points.txt").read_bytes():
                return True
        except FileNotFoundError:
            continue
        except OSError:  # an old egg-info that is a file has no entry points; ask what knows it
            return True
    return False


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
