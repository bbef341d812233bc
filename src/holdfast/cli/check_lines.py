"""The answer of `holdfast check` for people: the verdict first, then every stream."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.rules import Finding
from holdfast.rules.compatibility import CodeCheck, Compatibility, StreamCheck


def check_lines(found: CodeCheck) -> Iterator[str]:
    """Yield the answer, line by line."""
    yield _answer(found)
    width = max((len(each.stream) for each in found.checks), default=0)
    for each in found.checks:
        new = "" if each.newest_batch is not None or each.unknown else " (it has no batch yet)"
        yield _said(f"  {each.stream:<{width}}  {each.verdict}{new}{_where(each)}")
        for finding in each.findings:
            yield from _finding_lines(finding)
        for sentence in each.unknown:
            yield _said(f"    not compared: {sentence}")
    for sentence in found.unknown:
        yield _said(f"  not compared: {sentence}")


def _where(check: StreamCheck) -> str:
    """Say which line starts a plain query, and on which checkpoint."""
    query = check.query
    if query is None or query.where is None:
        return ""
    place = query.checkpoint
    return f", {query.where}" if place in (None, check.stream) else f", {query.where}, on {place}"


def _answer(found: CodeCheck) -> str:
    verdict = found.verdict
    named = [each.stream for each in found.checks if each.verdict is verdict]
    counted = f"{len(named):,} of {len(found.checks):,} streams"
    told = {
        Compatibility.COMPATIBLE: "The code can continue on every checkpoint.",
        Compatibility.WITH_NOTES: "The code can continue; read the notes.",
        Compatibility.UNKNOWN: "Something could not be compared.",
        Compatibility.INCOMPATIBLE: "Do not deploy this code.",
    }[verdict]
    if not named:
        return _said(f"{verdict.capitalize()}: {found.name} was not run to its end. {told}")
    shown = "" if verdict is Compatibility.COMPATIBLE else f" ({', '.join(named)})"
    return _said(f"{verdict.capitalize()}: {counted}{shown}. {told}")


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield _said(f"    {finding.code} {finding.name} ({finding.severity}): {finding.what}")
    yield _said(f"      {finding.how}")


def _said(text: str) -> str:
    return printable(redact(text))
