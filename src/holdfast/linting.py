"""`holdfast.lint_code` and `holdfast.audit_code`: what a restart does, seen in the code."""

from __future__ import annotations

from pathlib import Path

from holdfast.audit.model import Audit
from holdfast.audit.repository import audit_paths
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
    return check_paths(_existing(paths))


def audit_code(*paths: str | Path, checkpoints: str | None = None) -> Audit:
    """List every streaming query and what a restart after a kill does, as `holdfast audit` does.

    The code is parsed, never imported or run.

    Args:
        paths: Python files, notebooks, job definitions, or directories that are searched for them.
        checkpoints: A location below which checkpoints are looked for, to say which query has
            which.

    Raises:
        ConfigError: A path does not exist.
        LocationError: The location of the checkpoints is not one.
        ReadError: It cannot be listed.
    """
    return audit_paths(_existing(paths), checkpoints=checkpoints)


def _existing(paths: tuple[str | Path, ...]) -> tuple[str, ...]:
    for path in paths:
        if not Path(path).exists():
            raise ConfigError(f"{path} does not exist.")
    return tuple(map(str, paths))
