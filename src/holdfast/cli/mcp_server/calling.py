"""Calls a command of `holdfast` inside this process, and takes what it prints.

The tools are the commands: the same options, the same checks, the same JSON. While a server talks
over standard output, the SDK keeps that stream for itself; here `sys.stdout` is only replaced.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from typing import NamedTuple

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import run_command

_MOST_SAID = 2_000


class Called(NamedTuple):
    """How a command ended."""

    exit_code: int
    answer: dict[str, object]
    """Its JSON form."""


class _Taken(TextIOWrapper):
    """Takes text and bytes, as a terminal does."""

    def __init__(self) -> None:
        self._bytes = BytesIO()
        super().__init__(self._bytes, encoding="utf-8", errors="replace", write_through=True)

    @property
    def text(self) -> str:
        return self._bytes.getvalue().decode("utf-8", "replace")


def call_command(words: Sequence[str]) -> Called:
    """Call a command that answers as JSON; one call at a time in a process.

    Args:
        words: The command without `holdfast`.
    """
    out, said = _Taken(), _Taken()
    with redirect_stdout(out), redirect_stderr(said):
        exit_code = run_command(list(words))
    if exit_code == ExitCode.BUG:
        sys.stderr.write(said.text)
        return Called(exit_code, _error("BUG", "This is a bug in Holdfast."))
    answer = _parse(out.text)
    if answer is None:
        shown = said.text.strip()[:_MOST_SAID]
        answer = _error("USAGE", shown or "The command printed nothing.")
    return Called(exit_code, answer)


def _parse(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _error(code: str, why: str) -> dict[str, object]:
    return {"format": "holdfast.error", "version": 1, "code": code, "why": why}
