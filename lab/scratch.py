"""A directory that goes with its run, unless the run failed: then its logs are worth reading."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Give a new directory; it is removed at the end, and kept when an exception passes."""
    directory = Path(tempfile.mkdtemp(prefix="holdfast-run-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)
