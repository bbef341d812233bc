"""`holdfast.lint_code`: what a restart would lose or duplicate, seen in the code."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import ConfigError
from holdfast.lint.check import FileReport
from holdfast.lint.files import check_paths


def lint_code(*paths: str | Path) -> list[FileReport]:
    """Find code that loses or duplicates rows when a stream restarts, as `holdfast lint` does.

    The code is parsed, never imported or run.

    Args:
        paths: Python files, notebooks, or directories that are searched for both.

    Raises:
        ConfigError: A path does not exist.
    """
    for path in paths:
        if not Path(path).exists():
            raise ConfigError(f"{path} does not exist.")
    return check_paths(tuple(map(str, paths)))
