"""The answer of `holdfast check` for people: the verdict first, then every stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.rules import Finding
from holdfast.rules.compatibility import Compatibility, StreamCheck


def worst(checks: Sequence[StreamCheck]) -> Compatibility:
    """Return the verdict of all streams together: the worst of theirs."""
    order = list(Compatibility)
    return max((each.verdict for each in checks), key=order.index, default=order[0])


def check_lines(checks: Sequence[StreamCheck]) -> Iterator[str]:
    """Yield the answer, line by line."""
    yield _answer(checks)
    width = max((len(each.stream) for each in checks), default=0)
    for each in checks:
        new = "" if each.newest_batch is not None or each.unknown else " (it has no batch yet)"
        yield _said(f"  {each.stream:<{width}}  {each.verdict}{new}")
        for finding in each.findings:
            yield from _finding_lines(finding)
        for sentence in each.unknown:
            yield _said(f"    not compared: {sentence}")


def _answer(checks: Sequence[StreamCheck]) -> str:
    verdict = worst(checks)
    named = [each.stream for each in checks if each.verdict is verdict]
    counted = f"{len(named):,} of {len(checks):,} streams"
    told = {
        Compatibility.COMPATIBLE: "The code can continue on every checkpoint.",
        Compatibility.WITH_NOTES: "The code can continue; read the notes.",
        Compatibility.UNKNOWN: "Something could not be compared.",
        Compatibility.INCOMPATIBLE: "Do not deploy this code.",
    }[verdict]
    shown = "" if verdict is Compatibility.COMPATIBLE else f" ({', '.join(named)})"
    return _said(f"{verdict.capitalize()}: {counted}{shown}. {told}")


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield _said(f"    {finding.code} {finding.name} ({finding.severity}): {finding.what}")
    yield _said(f"      {finding.how}")


def _said(text: str) -> str:
    return printable(redact(text))
