"""Every situation there is, found by walking this package: a family is a module, nothing else."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from campaigns import situations
from campaigns.situations.situation import Situation

_FRAME = ("__main__", "families", "running", "situation")


def find_situations() -> tuple[Situation, ...]:
    """Return every situation, family by family."""
    names = [each.name for each in iter_modules(situations.__path__) if each.name not in _FRAME]
    modules = [import_module(f"{situations.__name__}.{name}") for name in names]
    return tuple(each for module in modules for each in getattr(module, "SITUATIONS", ()))
