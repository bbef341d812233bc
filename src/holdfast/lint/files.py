"""The files to check: Python and notebooks below the given paths, without hidden directories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from holdfast.confinement import is_confined, permits
from holdfast.lint.check import FileReport, check_file, check_together
from holdfast.lint.modules import modules_beside
from holdfast.lint.source import LARGEST_BYTES

SUFFIXES = (".py", ".ipynb")
SKIPPED = frozenset({"node_modules", "venv", "__pycache__", "site-packages", "build", "dist"})
MANY = 200
"""Files: fewer are checked before other processes have started."""
AT_ONCE = 50
OUTSIDE = "it leads outside the roots"


def find_files(paths: tuple[str, ...], suffixes: tuple[str, ...] = SUFFIXES) -> Iterator[Path]:
    """Yield every file to check, in the order of their names; a file that is named is always one.

    Links to directories are not followed.

    Args:
        paths: Files, and directories that are searched.
        suffixes: How the names of files end that are searched for.
    """
    for given in paths:
        if not Path(given).is_dir():
            yield Path(given)
            continue
        for directory, below, names in os.walk(given):
            below[:] = sorted(n for n in below if n not in SKIPPED and not n.startswith("."))
            yield from (Path(directory, n) for n in sorted(names) if n.endswith(suffixes))


def check_paths(paths: tuple[str, ...]) -> list[FileReport]:
    """Check every file, in the order of their names; many of them on all cores."""
    files = list(find_files(paths))
    if len(files) < MANY or is_confined():  # another process would not know what is permitted
        return check_together([check_path(path) for path in files])
    with ProcessPoolExecutor() as pool:
        return check_together(list(pool.map(check_path, files, chunksize=AT_ONCE)))


def check_path(path: Path) -> FileReport:
    """Read and check one file; one that cannot be read is reported."""
    if not permits(path):
        return FileReport(path=str(path), unreadable=OUTSIDE)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        return FileReport(path=str(path), unreadable=error.strerror or type(error).__name__)
    return check_file(str(path), content, find_constants=modules_beside(path))
