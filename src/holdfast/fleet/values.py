"""Values of a row: bounded texts, times, and who owns a path."""

from __future__ import annotations

import re

from holdfast import clock
from holdfast.printable import printable
from holdfast.redact import redact

_LONGEST = 400
"""Characters of a text in a row: names and reasons may come from anybody."""


def now_ms() -> int:
    """Return the time of a row."""
    return round(clock.now().timestamp() * 1_000)


def short(text: str) -> str:
    """Return a text as it may stand in a row: printable, without secrets, and bounded."""
    shown = printable(redact(text))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def find_owner(pattern: re.Pattern[str] | None, path: str) -> str | None:
    """Return who owns a checkpoint, by its path; None if the pattern does not match."""
    matched = None if pattern is None else pattern.search(path)
    if matched is None:
        return None
    return short(matched[1] or "" if matched.re.groups else matched[0]) or None
