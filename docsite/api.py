"""The public names, each as a line that mkdocstrings turns into its docstring."""

from __future__ import annotations

import holdfast

WITH_MEMBERS = {"HoldfastError", "Pipeline", "Sink"}
"""Classes whose methods users call or write; of the others the arguments are what matters."""


def api_of(kind: str) -> list[str]:
    """Return the lines for the names of a kind: `functions`, `classes` or `errors`."""
    return [line for name in names_of(kind) for line in _shown(name)]


def names_of(kind: str) -> list[str]:
    """Return the public names of a kind, the most important one first."""
    names = [name for name in holdfast.__all__ if not name.startswith("__")]
    return sorted((name for name in names if kind_of(name) == kind), key=_order)


def kind_of(name: str) -> str:
    """Return what a public name is."""
    if name.endswith("Error"):
        return "errors"
    return "classes" if name[0].isupper() else "functions"


def _order(name: str) -> tuple[bool, str]:
    return name not in {"HoldfastError", "start"}, name


def _shown(name: str) -> list[str]:
    lines = ["", f"::: holdfast.{name}", "    options:", "      heading_level: 3"]
    return lines if name in WITH_MEMBERS else [*lines, "      members: false"]
