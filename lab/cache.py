"""Where downloads and things made from them are kept, outside the repository.

`HOLDFAST_LAB_CACHE`, else `$XDG_CACHE_HOME/holdfast-lab`, else `~/.cache/holdfast-lab`.
Everything in it is named after a hash of what it was made from, so checkouts share it and it can be
deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_directory() -> Path:
    """Return the cache directory, made when it is not there."""
    named = os.environ.get("HOLDFAST_LAB_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(named) if named else Path(base) / "holdfast-lab"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def cached(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cached directory `name`; when it is not there, `make` fills it first.

    It appears whole or not at all: made beside, then renamed. Two makers at once are harmless, the
    first one's directory stays.
    """
    final = cache_directory() / name
    if final.exists():
        return final
    half_made = Path(tempfile.mkdtemp(dir=cache_directory(), prefix=f".{name}-"))
    try:
        make(half_made)
        half_made.chmod(0o755)
        half_made.rename(final)
    except OSError:
        if not final.exists():
            raise
    finally:
        shutil.rmtree(half_made, ignore_errors=True)
    return final


def sha256_of_text(*parts: str) -> str:
    """Return a short name for some text: the first 12 hex digits of its SHA-256."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
