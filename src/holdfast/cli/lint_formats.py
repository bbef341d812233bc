"""The answer of `holdfast lint`: text, JSON, GitHub annotations, SARIF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

from holdfast.cli.sarif import LEVELS, Result, render_sarif, say
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.check import FileReport, PlacedFinding
from holdfast.redact import redact
from holdfast.report.envelope import render_simple


def _text(reports: list[FileReport]) -> Iterator[str]:
    for report, placed in _each(reports):
        found = placed.finding
        yield say(f"{_place(report, placed)} {found.code} {found.name}  {found.message}")
    for report in reports:
        if report.unreadable:
            yield say(f"{report.path}: not checked: {report.unreadable}")
    yield summary(reports)


def summary(reports: list[FileReport]) -> str:
    """Return the last line: how much was found, and in how many files."""
    count = sum(len(report.findings) for report in reports)
    files = sum(bool(report.findings) for report in reports)
    unread = sum(bool(report.unreadable) for report in reports)
    found = f"{count:,} finding{'' if count == 1 else 's'}"
    shown = (
        f"{found} in {files:,} of {len(reports):,} files"
        if count
        else f"No findings in {len(reports):,} files"
    )
    return f"{shown}; {unread:,} could not be checked completely." if unread else f"{shown}."


def _json(reports: list[FileReport]) -> Iterator[str]:
    yield render_simple(
        "lint",
        {
            "files": len(reports),
            "findings": [_finding(*each) for each in _each(reports)],
            "not_checked": [
                {"file": say(report.path), "reason": say(report.unreadable)}
                for report in reports
                if report.unreadable
            ],
        },
        version=2,
    )


def _finding(report: FileReport, placed: PlacedFinding) -> dict[str, object]:
    found = placed.finding
    return {
        "file": say(report.path),
        "cell": placed.cell,
        "line": placed.line,
        "column": found.position.column,
        "code": found.code,
        "name": found.name,
        "severity": found.severity.value,
        "confidence": found.confidence.value,
        "message": say(found.message),
    }


def _github(reports: list[FileReport]) -> Iterator[str]:
    for report, placed in _each(reports):
        found = placed.finding
        level = LEVELS[found.severity].replace("note", "notice")
        where = f"file={_escape(report.path, ':,')},line={placed.line},col={found.position.column}"
        title = f"{found.code} {found.name}"
        yield f"::{level} {where},title={title}::{_escape(found.message)}"
    for report in reports:
        if report.unreadable:
            said = _escape(f"not checked: {report.unreadable}")
            yield f"::warning file={_escape(report.path, ':,')}::{said}"


def _escape(text: str, more: str = "") -> str:
    return say(text.replace("\n", "\\n")).translate(
        {ord(each): quote(each, safe="") for each in f"%\r\n{more}"}
    )


def _sarif(reports: list[FileReport]) -> Iterator[str]:
    results = (
        Result(
            code=placed.finding.code,
            severity=placed.finding.severity,
            message=placed.finding.message,
            locations=[_location(report, placed)],
        )
        for report, placed in _each(reports)
    )
    rules = ((rule.code, rule.name, rule.severity) for rule in LINT_RULES)
    unread = (f"{each.path}: {each.unreadable}" for each in reports if each.unreadable)
    yield render_sarif("holdfast lint", rules, results, not_judged=unread)


def _location(report: FileReport, placed: PlacedFinding) -> dict[str, object]:
    region = {"startLine": placed.line, "startColumn": placed.finding.position.column}
    artifact = {"uri": quote(redact(report.path), errors="replace")}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _each(reports: list[FileReport]) -> Iterator[tuple[FileReport, PlacedFinding]]:
    return ((report, placed) for report in reports for placed in report.findings)


def _place(report: FileReport, placed: PlacedFinding) -> str:
    cell = "" if placed.cell is None else f"cell {placed.cell}:"
    return f"{report.path}:{cell}{placed.line}:{placed.finding.position.column}"


FORMATS: dict[str, Callable[[list[FileReport]], Iterator[str]]] = {
    "text": _text,
    "json": _json,
    "github": _github,
    "sarif": _sarif,
}
