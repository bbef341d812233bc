"""What `holdfast check FILE.py` and its child process tell each other."""

from __future__ import annotations

import msgspec

from holdfast.rules.compatibility import StreamCheck

REQUEST, ANSWERS, OUTPUT = "request.json", "answers.jsonl", "output.txt"
"""Names of files in the directory that both know."""
CHECKING = "HOLDFAST_CHECK"
"""Set in the environment of a program that is only checked."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and how."""

    program: str
    arguments: tuple[str, ...]
    settings: dict[str, str]
    """Of every session, whatever the program says."""
    event_log: str | None


class QueryChecked(msgspec.Struct, frozen=True, tag=True):
    """A query would have been started."""

    check: StreamCheck


class WriteRefused(msgspec.Struct, frozen=True, tag=True):
    """The program would have written something."""

    what: str
    where: str


class ProgramEnded(msgspec.Struct, frozen=True, tag=True):
    """The program came to its end."""

    error: str | None = None
    """What it raised; None when it ended well."""
    where: str = ""


Answer = QueryChecked | WriteRefused | ProgramEnded
