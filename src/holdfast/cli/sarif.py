"""SARIF 2.1.0, which code hosts show: rules, and results at places."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.grades import Severity
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.version import __version__

LEVELS: Mapping[Severity, str] = {
    Severity.BLOCKS_RESTART: "error",
    Severity.DATA_AT_RISK: "error",
    Severity.RISK: "warning",
    Severity.NOTE: "note",
}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One finding."""

    code: str
    severity: Severity
    message: str
    locations: Sequence[Mapping[str, object]]


def render_sarif(
    tool: str,
    rules: Iterable[tuple[str, str, Severity]],
    results: Iterable[Result],
    *,
    not_judged: Iterable[str],
) -> str:
    """Return a log of one run.

    Args:
        tool: Its name: `holdfast lint`.
        rules: Code, name and severity of each.
        results: What was found.
        not_judged: What could not be looked at, each with the reason.
    """
    driver = {
        "name": tool,
        "version": __version__,
        "rules": [
            {"id": code, "name": name, "defaultConfiguration": {"level": LEVELS[severity]}}
            for code, name, severity in rules
        ],
    }
    unread = [{"level": "warning", "message": {"text": say(each)}} for each in not_judged]
    run = {
        "tool": {"driver": driver},
        "results": [
            {
                "ruleId": each.code,
                "level": LEVELS[each.severity],
                "message": {"text": say(each.message)},
                "locations": list(each.locations),
            }
            for each in results
        ],
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": unread}],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def say(text: str) -> str:
    """Return a text that cannot steer a terminal and has no credentials."""
    return printable(redact(text))
