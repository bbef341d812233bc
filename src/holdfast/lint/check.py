"""Check files: the bytes of one in, what was found out; then what several show together. No I/O."""

from __future__ import annotations

import re
from pathlib import PurePath

import msgspec
from msgspec.structs import replace

from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.imports import FindConstants, no_modules
from holdfast.lint.program import Program, read_program
from holdfast.lint.rule import LintFinding, QueryUse
from holdfast.lint.source import Source, Unreadable, has_streams, is_python, read_source

_IGNORED = re.compile(r"#\s*holdfast:\s*ignore(?:\[([A-Z0-9, ]*)\])?")
TOO_DEEP = "too deeply nested"
_ABSOLUTE = re.compile(r"/|[a-z][a-z0-9+.-]*:", re.IGNORECASE)


class PlacedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding, with the cell of a notebook and the line of code that it is at."""

    finding: LintFinding
    cell: int | None
    line: int
    code_line: str


class FileReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one file after it was checked."""

    path: str
    findings: tuple[PlacedFinding, ...] = ()
    unreadable: str | None = None
    """Why it, or a part of it, was not checked."""
    streams: int = 0
    uses: tuple[QueryUse, ...] = ()
    """Its queries, to be compared with those of other files."""


def check_file(
    path: str, content: bytes, *, find_constants: FindConstants = no_modules
) -> FileReport:
    """Judge one file by every rule. One without streams must parse too, to be called fine."""
    is_ipynb = path.endswith(".ipynb")
    if not has_streams(content) and not is_ipynb and is_python(content):
        return FileReport(path=path)
    source = read_source(content, is_ipynb=is_ipynb)
    if isinstance(source, Unreadable):
        return FileReport(path=path, unreadable=source.reason)
    if not has_streams(content):
        return FileReport(path=path, unreadable=_say_unparsed(source))
    try:
        return check_program(path, source, read_program(source, find_constants))
    except RecursionError:
        return FileReport(path=path, unreadable=TOO_DEEP)


def check_program(path: str, source: Source, program: Program) -> FileReport:
    """Judge a program that was read.

    Raises:
        RecursionError: It is too deeply nested.
    """
    findings = {found for rule in LINT_RULES for found in rule.judge(program)}
    ordered = sorted(findings, key=lambda each: (each.position, each.code))
    return FileReport(
        path=path,
        findings=tuple(_place(source, each) for each in ordered if not _is_ignored(source, each)),
        unreadable=_say_unparsed(source),
        streams=len(program.queries),
        uses=_uses(path, source, program),
    )


def _say_unparsed(source: Source) -> str | None:
    cells = ", ".join(map(str, source.unparsed_cells))
    return f"not Python 3: cell {cells}" if cells else None


def check_together(reports: list[FileReport]) -> list[FileReport]:
    """Add what only several files show together."""
    uses = [use for report in reports for use in report.uses]
    across = (rule.judge_across for rule in LINT_RULES if rule.judge_across is not None)
    more: dict[str, list[PlacedFinding]] = {}
    for use, finding in (found for judge in across for found in judge(uses)):
        if use.ignored is not None and finding.code not in use.ignored:
            placed = PlacedFinding(
                finding=finding, cell=use.cell, line=use.line, code_line=use.code_line
            )
            more.setdefault(use.path, []).append(placed)
    return [_with(report, more.get(report.path, [])) for report in reports]


def _with(report: FileReport, more: list[PlacedFinding]) -> FileReport:
    known = {(each.finding.code, each.finding.position) for each in report.findings}
    new = {(each.finding.code, each.finding.position): each for each in more}
    added = [each for key, each in new.items() if key not in known]
    ordered = sorted(
        (*report.findings, *added), key=lambda each: (each.finding.position, each.finding.code)
    )
    return replace(report, findings=tuple(ordered)) if added else report


def _uses(path: str, source: Source, program: Program) -> tuple[QueryUse, ...]:
    found: list[QueryUse] = []
    for query in program.queries:
        location = query.checkpoint.value.known if query.checkpoint else None
        if location is None or query.checkpoint is None or program.is_shown_only(query):
            continue
        line, _ = at = query.checkpoint.at
        cell, shown = source.place(line)
        directory = "" if _ABSOLUTE.match(location) else f"{PurePath(path).parent}/"
        use = QueryUse(
            path=path,
            place=f"{directory}{location.rstrip('/')}",
            purpose=program.purpose_of(query),
            at=at,
            cell=cell,
            line=shown,
            code_line=_line_at(source, line).strip(),
            ignored=_ignored_codes(source, line),
        )
        found.append(use)
    return tuple(found)


def _line_at(source: Source, number: int) -> str:
    return source.lines[number - 1] if 0 < number <= len(source.lines) else ""


def _ignored_codes(source: Source, line: int) -> frozenset[str] | None:
    """Return the codes that the comment on a line accepts; None if it accepts all."""
    comment = _IGNORED.search(_line_at(source, line))
    if comment is None:
        return frozenset()
    return None if comment[1] is None else frozenset(re.split(r"[, ]+", comment[1]))


def _is_ignored(source: Source, finding: LintFinding) -> bool:
    codes = _ignored_codes(source, finding.position.line)
    return codes is None or finding.code in codes


def _place(source: Source, finding: LintFinding) -> PlacedFinding:
    cell, line = source.place(finding.position.line)
    code = _line_at(source, finding.position.line).strip()
    return PlacedFinding(finding=finding, cell=cell, line=line, code_line=code)
