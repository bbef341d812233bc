"""`holdfast diagnose --format markdown`: for a ticket or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.cli.diagnosis_text import say_unknown, say_verdict, say_where
from holdfast.judgement.judge import Judgement
from holdfast.printable import printable
from holdfast.redact import redact

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>~&@$])")


def render_diagnosis_markdown(found: Judgement) -> Iterator[str]:
    """Yield the lines to print."""
    yield f"**{as_plain(say_verdict(found))}**"
    yield ""
    if found.findings:
        yield "| Severity | Finding | What Spark will do | What to do |"
        yield "| --- | --- | --- | --- |"
    for each in found.findings:
        cells = (f"{each.severity} ({each.confidence})", f"{each.code} {each.name}")
        yield f"| {' | '.join(map(as_plain, (*cells, each.what, each.how)))} |"
    yield from ("", "| | Fact | | Where |", "| --: | --- | --- | --- |")
    for fact in found.facts:
        value = "not known" if fact.value is None else fact.value
        row = " | ".join(map(as_plain, (fact.name, value, say_where(fact))))
        yield f"| {fact.number} | {row} |"
    unknown = say_unknown(found)
    if unknown:
        yield from ("", "Not known:", "")
        yield from (f"- {as_plain(each)}" for each in unknown)


def as_plain(text: str) -> str:
    """Return a text that Markdown shows as it is: nothing in it is a link, markup or a cell."""
    return _SPECIAL.sub(r"\\\1", printable(redact(text)))
