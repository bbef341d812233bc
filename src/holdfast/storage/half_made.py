"""Names of files that are being written: a kill or a power cut can leave one behind."""

from __future__ import annotations

import posixpath
import re
import uuid

_NAME = re.compile(r"\.holdfast-[0-9a-f]{32}\.tmp")


def temp_name() -> str:
    """Return a new name. It is hidden, and Spark does not take it for an entry of a log."""
    return f".holdfast-{uuid.uuid4().hex}.tmp"


def is_half_made(path: str) -> bool:
    """Return whether a writer of ours has left this file, and nothing needs it."""
    return _NAME.fullmatch(posixpath.basename(path)) is not None
