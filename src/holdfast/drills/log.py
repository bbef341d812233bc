"""What the log of a process says went wrong."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.redact import redact

_NAMES_AN_ERROR = re.compile(r"^(?!\s+at ).*(Exception|Error|FATAL|ERROR|Caused by)")
_IS_AN_ERROR = re.compile(r"[\w.]+(Exception|Error): ")
_IS_WRAPPED = re.compile(r".*\bterminated with exception: ")
"""Spark's words around what ended a query: whose, by ids that differ at every start."""
_CAUSES = 4
_LAST_LINES = 20


def excerpt(log: Path) -> str:
    """Return what a log says went wrong: the lines that name an error, then the last lines.

    Credentials in URLs and in `password=…` are taken out.
    """
    if not log.exists():
        return "(no log was written)"
    lines = log.read_text(errors="replace").splitlines()
    causes = [line for line in lines[:-_LAST_LINES] if _NAMES_AN_ERROR.search(line)]
    if len(causes) > 2 * _CAUSES:
        causes = [*causes[:_CAUSES], *causes[-_CAUSES:]]
    return redact("\n".join([*causes, *lines[-_LAST_LINES:]]))


def last_error(log: Path) -> str:
    """Return the last line of a log that is an error and its message; empty when none is.

    Of a query that failed it is what the query failed with.
    """
    if not log.exists():
        return ""
    lines = log.read_text(errors="replace").splitlines()
    found = next((line.strip() for line in reversed(lines) if _IS_AN_ERROR.match(line)), "")
    return redact(_IS_WRAPPED.sub("", found))


def last_line(log: Path) -> str:
    """Return the last line of a log that is not empty; empty when there is none."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return redact(next((line.strip() for line in reversed(lines) if line.strip()), ""))
