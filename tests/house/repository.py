"""The repository as data: which files are ours, and what stands in them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def tracked_files() -> list[Path]:
    """Return every file that is committed or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in output.split("\0") if name and (path := ROOT / name).is_file()]


def python_files(*folders: str) -> list[Path]:
    """Return our Python files below some folders of the repository."""
    below = [ROOT / folder for folder in folders]
    return [
        path
        for path in tracked_files()
        if path.suffix == ".py" and any(path.is_relative_to(folder) for folder in below)
    ]
