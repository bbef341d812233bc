"""Base classes whose subclasses are complete, or cannot be defined.

A method with a misspelt name is a method that is missing. For a sink that means rows that are lost
or duplicated, so it is an error at the `class` statement and not a guess at run time.
"""

from __future__ import annotations

from abc import ABC
from difflib import get_close_matches
from typing import Any

_ALIKE = 0.8


class StrictABC(ABC):  # noqa: B024 - its subclasses have the abstract methods
    """Refuses to define a subclass that lacks a method, or has one with a misspelt name."""

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Check the subclass; one that is itself a base class says `abstract=True`.

        Raises:
            TypeError: Something is missing, or a name is almost that of an optional method.
        """
        super().__init_subclass__(**options)
        if abstract:
            return
        own = {name for name, value in vars(cls).items() if name[0] != "_" and _is_code(value)}
        known = {name for base in cls.__mro__[1:] for name in vars(base) if name[0] != "_"}
        missing = sorted(name for name in known if _is_abstract(getattr(cls, name, None)))
        misspelt = {
            name: alike[0]
            for name in sorted(own - known)
            if (alike := get_close_matches(name, known - own, n=1, cutoff=_ALIKE))
        }
        if missing:
            raise TypeError(f"{cls.__name__} lacks {', '.join(missing)}.{_hint(misspelt)}")
        if misspelt:
            raise TypeError(f"{cls.__name__} has a name that nothing calls.{_hint(misspelt)}")


def _is_code(value: object) -> bool:
    """Return whether a name of a class is a method or a property, and not a value."""
    return callable(value) or isinstance(value, property | classmethod | staticmethod)


def _is_abstract(value: object) -> bool:
    return bool(getattr(value, "__isabstractmethod__", False))


def _hint(misspelt: dict[str, str]) -> str:
    return "".join(f" Is {name} meant to be {alike}?" for name, alike in misspelt.items())
