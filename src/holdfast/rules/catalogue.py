"""Every rule there is: those of this package, and those that other packages bring.

Ours are found by walking the folders of this package. Another package names its modules as entry
points in the group `holdfast.rules`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, overload

import msgspec

from holdfast.evidence.case import Case
from holdfast.redact import redact
from holdfast.rules.rule import Needs, Rule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_PACKAGE = "holdfast.rules"
_METADATA = (".dist-info", ".egg-info", "EGG-INFO")
_OUR_CODE = re.compile(r"HF[0-9]{3}")


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """What to judge with."""

    rules: tuple[Rule, ...]
    not_loaded: tuple[str, ...] = ()
    """Entries of other packages that are not rules, each with the reason."""


@cache
def find_rules() -> tuple[Rule, ...]:
    """Return every rule of this package, by code."""
    return _by_code(each for needs in Needs for each in _rules_needing(needs))


def rules_for(case: Case) -> tuple[Rule, ...]:
    """Return our rules that can find something in a case, by code.

    Of a bare checkpoint, only the modules about the checkpoint are imported.
    """
    there = (needs for needs in Needs if has(case, needs))
    return _by_code(each for needs in there for each in _rules_needing(needs))


def own_catalogue(case: Case) -> Catalogue:
    """Return our rules that apply to a case: a guarded start judges by these alone."""
    return Catalogue(rules=rules_for(case))


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
        Needs.HISTORY: getattr(case.event_log, "runs", ()),
    }
    return bool(held.get(needs, True))


@cache
def _rules_needing(needs: Needs) -> tuple[Rule, ...]:
    """Return the rules in the folder of what they need; from a wheel or a zip archive alike."""
    folder = f"{_PACKAGE}.{needs}"
    if find_spec(folder) is None:
        return ()
    modules = (each.name for each in iter_modules(import_module(folder).__path__))
    return tuple(each for name in modules for each in rules_in(import_module(f"{folder}.{name}")))


def rules_in(module: ModuleType) -> tuple[Rule, ...]:
    """Return the rules of a module."""
    return tuple(each for each in vars(module).values() if isinstance(each, Rule))


def _by_code(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    return tuple(sorted(rules, key=lambda each: each.code))


class OwnRules(Sequence[Rule]):
    """Holdfast's own rules by code, imported when they are first looked at.

    Importing them takes longer than reading a small checkpoint, and most commands never judge.
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
"""Holdfast's own."""


@cache
def load_catalogue() -> Catalogue:
    """Return our rules, then those of other packages by the names of their entries."""
    return _with_other_packages(RULES)


def catalogue_for(case: Case) -> Catalogue:
    """Return what can find something in a case: ours that apply, and all of other packages."""
    return _with_other_packages(rules_for(case))


def catalogue_among_many(case: Case) -> Catalogue:
    """Return the same for one case of thousands: other packages are looked for only once."""
    every = load_catalogue()
    return Catalogue(
        rules=(*rules_for(case), *every.rules[len(RULES) :]), not_loaded=every.not_loaded
    )


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
        if isinstance(loaded, str):
            not_loaded.append(f"the rule {entry.name} of another package, {entry.value}: {loaded}")
        else:
            rules += loaded
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


def _load(entry: EntryPoint, *, taken: set[str]) -> tuple[Rule, ...] | str:
    """Return the rules of an entry, or why it has none."""
    try:
        rules = rules_in(entry.load())
    except Exception as error:  # noqa: BLE001 - a module of another package can raise anything
        return redact(f"{type(error).__name__}: {error}")
    if not rules:
        return "it has no holdfast.rules.Rule"
    for each in rules:
        if _OUR_CODE.fullmatch(each.code):
            return f"its code {each.code} is one of Holdfast's; choose another prefix"
        if each.code in taken:
            return f"its code {each.code} is taken already"
    return rules
