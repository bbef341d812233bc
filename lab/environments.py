"""Python environments besides the one of development, made by uv and kept in the cache."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.cache import cached
from lab.errors import InstallFailedError


def make_environment(name: str, wanted: Sequence[str]) -> Path:
    """Return the Python of an environment; the first call installs everything.

    Args:
        name: In the cache; it changes with everything that is installed.
        wanted: Requirements and options, as `uv pip install` takes them.

    Raises:
        InstallFailedError: uv could not install them.
    """
    return cached(name, lambda directory: _install(directory, wanted)) / "venv" / "bin" / "python"


def _install(directory: Path, wanted: Sequence[str]) -> None:
    # Only `bin/python` is used, so the environment can be renamed once it is complete.
    venv = directory / "venv"
    python = venv / "bin" / "python"
    _run_uv("venv", "--python", sys.executable, str(venv))
    _run_uv("pip", "install", "--compile-bytecode", "--python", str(python), *wanted)


def _run_uv(*arguments: str) -> None:
    uv = Path(sys.executable).with_name("uv")
    ended = subprocess.run([uv, *arguments], check=False, capture_output=True, text=True)
    if ended.returncode != 0:
        raise InstallFailedError(f"uv {' '.join(arguments)}", said=ended.stderr)
