"""Calling `holdfast inspect` in a test."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

from tests.unit.checkpoint.archives import DIRECTORY

Inspect = Callable[..., tuple[int, list[str]]]
"""Runs the command; returns its exit code and the lines of its result."""


def unpack(name: str, into: Path) -> Path:
    """Unpack an archived checkpoint, and return where it is."""
    with tarfile.open(DIRECTORY / f"{name}.tar.xz") as archive:
        archive.extractall(into, filter="data")
    return into / "checkpoint"
