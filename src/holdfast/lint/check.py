"""Check one file: its bytes in, what was found out. A value in, a value out; no I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.program import read_program
from holdfast.lint.rule import LintFinding
from holdfast.lint.source import Source, Unreadable, has_streams, read_source

_IGNORED = re.compile(r"#\s*holdfast:\s*ignore(?:\[([A-Z0-9, ]*)\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFinding:
    """A finding, with the cell of a notebook and the line of code that it is at."""

    finding: LintFinding
    cell: int | None
    line: int
    code_line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What is known of one file after it was checked."""

    path: str
    findings: tuple[PlacedFinding, ...] = ()
    unreadable: str | None = None
    """Why it, or a part of it, was not checked."""
    streams: int = 0


def check_file(path: str, content: bytes) -> FileReport:
    """Judge one file by every rule."""
    if not has_streams(content):
        return FileReport(path=path)
    source = read_source(content, is_ipynb=path.endswith(".ipynb"))
    if isinstance(source, Unreadable):
        return FileReport(path=path, unreadable=source.reason)
    try:
        program = read_program(source.tree, is_notebook=source.is_notebook)
        findings = {found for rule in LINT_RULES for found in rule.judge(program)}
    except RecursionError:
        return FileReport(path=path, unreadable="too deeply nested")
    ordered = sorted(findings, key=lambda each: (each.position, each.code))
    cells = ", ".join(map(str, source.unparsed_cells))
    return FileReport(
        path=path,
        findings=tuple(_place(source, each) for each in ordered if not _is_ignored(source, each)),
        unreadable=f"not Python 3: cell {cells}" if cells else None,
        streams=len(program.queries),
    )


def _line_at(source: Source, number: int) -> str:
    return source.lines[number - 1] if 0 < number <= len(source.lines) else ""


def _is_ignored(source: Source, finding: LintFinding) -> bool:
    comment = _IGNORED.search(_line_at(source, finding.position.line))
    if comment is None:
        return False
    return comment[1] is None or finding.code in re.split(r"[, ]+", comment[1])


def _place(source: Source, finding: LintFinding) -> PlacedFinding:
    cell, line = source.place(finding.position.line)
    code = _line_at(source, finding.position.line).strip()
    return PlacedFinding(finding=finding, cell=cell, line=line, code_line=code)
