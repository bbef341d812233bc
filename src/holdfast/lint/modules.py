"""Modules beside a file that is checked: found by their names, read for their constants."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

from holdfast.confinement import permits
from holdfast.lint.imports import Constants, FindConstants, constants_in
from holdfast.lint.source import LARGEST_BYTES, Unreadable, read_source

_MOST_ABOVE = 6
"""Directories above a file in which the packages that it imports are looked for."""


def modules_beside(path: Path) -> FindConstants:
    """Return how the modules are found that a file can import from its own repository."""
    return partial(_find, path.absolute().parent)


@cache
def _find(directory: Path, module: str, level: int) -> Constants | None:
    below = Path(*module.split("."))
    if level:
        above = [directory, *directory.parents]
        places = above[level - 1 : level]
    else:
        places = [directory, *directory.parents][:_MOST_ABOVE]
    for place in places:
        for name in (below.with_suffix(".py"), below / "__init__.py"):
            if permits(place / name) and (place / name).is_file():
                return _read(place / name)
    return None


@cache
def _read(path: Path) -> Constants:
    try:
        with path.open("rb") as file:
            source = read_source(file.read(LARGEST_BYTES + 1), is_ipynb=False)
        return {} if isinstance(source, Unreadable) else constants_in(source.tree)
    except (OSError, RecursionError):
        return {}
