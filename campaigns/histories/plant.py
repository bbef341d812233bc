"""A bug that is put into shipped code while histories are played, and how it is put in.

What a plant patches is named by text, so that one that does not fit the code any more is told as
such.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

Patch = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Plant:
    """One bug to put in."""

    name: str
    finding: str
    """The number of the finding whose fix it takes out, or the guard that it removes."""
    put_in: Patch
    where: tuple[str, ...] = ("memory", "postgres")
    """Where its code is used."""


def nothing(*_: Any, **__: Any) -> tuple[()]:
    """Find nothing, whatever is asked."""
    return ()


def none(*_: Any, **__: Any) -> None:
    """Answer None, whatever is asked."""
    return


def patched(name: str, new: Any = nothing, *, package: str = "holdfast") -> Patch:
    """Return what puts something in the place of a name, while it is entered."""
    return lambda: patch(f"{package}.{name}", new)


def all_patched(*patches: Patch) -> Patch:
    """Return several patches as one."""

    def put_in() -> AbstractContextManager[Any]:
        with ExitStack() as stack:
            for each in patches:
                stack.enter_context(each())
            return stack.pop_all()

    return put_in
