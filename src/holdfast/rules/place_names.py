"""Names of directories that change from run to run: each run then has a new checkpoint."""

from __future__ import annotations

import posixpath
import re

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_CHANGING = (
    ("a random id", re.compile(rf"(?:temporary-)?{_UUID}|.*[-_.]{_UUID}", re.IGNORECASE)),
    ("a date", re.compile(r".*(?<!\d)20\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?!\d).*")),
    ("a date and time", re.compile(r".*(?<!\d)20\d{6}[-_T]?\d{4,6}(?!\d).*")),
    (
        "an application id",
        re.compile(r".*(?:application_\d{10,}_\d+|local-\d{13}|app-\d{14}-\d+).*"),
    ),
)


def changing_part(path: str) -> str | None:
    """Return what in the last name of a path changes from run to run; None when nothing does."""
    name = posixpath.basename(path.rstrip("/"))
    return next((what for what, pattern in _CHANGING if pattern.fullmatch(name)), None)
