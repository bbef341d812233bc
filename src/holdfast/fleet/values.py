"""Values of a row: bounded texts, times, and who owns a path."""

from __future__ import annotations

import re
from shlex import quote

from holdfast import clock
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.spark_versions import SparkVersion, version_text
from holdfast.storage.location import Location
from holdfast.version import __version__

_LONGEST = 400
"""Characters of a text in a row: names and reasons may come from anybody."""
_LONGEST_LOCATION = 20_000
"""More than any store allows, also if every character is escaped."""


def now_ms() -> int:
    """Return the time of a row."""
    return round(clock.now().timestamp() * 1_000)


def judged_by(spark: SparkVersion | None) -> str:
    """Return who judges rows now: rules and predictions change with both versions.

    Args:
        spark: The version that was asked for; None by default.
    """
    return __version__ if spark is None else f"{__version__} for Spark {version_text(spark)}"


def short(text: str, *, longest: int = _LONGEST) -> str:
    """Return a text as it may stand in a row: printable, without secrets, and bounded."""
    shown = printable(redact(text))
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def short_location(place: Location) -> str:
    """Return a location as a row has it: rows are known by it, so it is not shortened."""
    return short(str(place), longest=_LONGEST_LOCATION)


def diagnose_command(location: str) -> str:
    """Return the command that looks closer, as a shell takes it: a name can hold anything."""
    return f"holdfast diagnose {quote(location)}"


def find_owner(pattern: re.Pattern[str] | None, path: str) -> str | None:
    """Return who owns a checkpoint, by its path; None if the pattern does not match."""
    matched = None if pattern is None else pattern.search(path)
    if matched is None:
        return None
    return short(matched[1] or "" if matched.re.groups else matched[0]) or None
