"""The answer of `holdfast audit`: text, JSON, Markdown for a review, SARIF."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

from holdfast.audit.model import Audit, AuditedQuery
from holdfast.cli.audit_json import audit_json
from holdfast.cli.audit_text import NOT_KNOWN, render_text, say_answer, say_effects
from holdfast.cli.diagnosis_markdown import as_plain
from holdfast.cli.sarif import Result, render_sarif
from holdfast.grades import Confidence, Effect, Severity
from holdfast.lint.catalogue import LINT_RULES
from holdfast.redact import redact

_HARMED, _UNKNOWN = "audit-restart", "audit-not-known"


def _json(found: Audit) -> Iterator[str]:
    yield audit_json(found)


def _markdown(found: Audit) -> Iterator[str]:
    yield f"**{as_plain(say_answer(found))}**"
    if found.queries:
        yield ""
        yield "| Query | Source | Sink | Checkpoint | Recognises a batch | After a kill | Change |"
        yield "| --- | --- | --- | --- | --- | --- | --- |"
        yield from map(_markdown_row, found.queries)
    if found.checkpoints is not None:
        yield from ("", "| Checkpoint | Queries |", "| --- | --- |")
        for each in found.checkpoints:
            whose = ", ".join(each.queries) or "no query in the code names it"
            yield f"| {as_plain(each.location)} | {as_plain(each.unread or whose)} |"
    if found.not_understood:
        yield from ("", "Not understood:", "")
        yield from (f"- {as_plain(f'{each.place}: {each.why}')}" for each in found.not_understood)


def _markdown_row(query: AuditedQuery) -> str:
    codes = "".join(f" {code}" for code in dict.fromkeys(each.code for each in query.rules))
    cells = (
        query.place,
        query.source.value or NOT_KNOWN,
        query.sink.value or NOT_KNOWN,
        query.checkpoint.value or NOT_KNOWN,
        f"{query.recognises.value}: {query.why}",
        f"{say_effects(query)}{codes}",
        " ".join(query.changes) or "-",
    )
    return f"| {' | '.join(as_plain(' '.join(each.split())) for each in cells)} |"


def _sarif(found: Audit) -> Iterator[str]:
    rules = [(rule.code, rule.name, rule.severity) for rule in LINT_RULES]
    rules.append((_HARMED, "restart-after-kill", Severity.DATA_AT_RISK))
    rules.append((_UNKNOWN, "restart-not-known", Severity.RISK))
    unread = (f"{each.place}: {each.why}" for each in found.not_understood)
    results = (result for query in found.queries for result in _results(query))
    yield render_sarif("holdfast audit", rules, results, not_judged=unread)


def _results(query: AuditedQuery) -> Iterator[Result]:
    """Yield one result for each query that is not known to be safe, and one for each rule."""
    locations = [_location(query.file, query.line)]
    for rule in query.rules:
        yield Result(
            code=rule.code, severity=rule.severity, message=rule.message, locations=locations
        )
    message = " ".join((query.after_kill, *query.changes))
    if query.confidence is Confidence.UNKNOWN:
        yield Result(code=_UNKNOWN, severity=Severity.RISK, message=message, locations=locations)
    elif query.effects != (Effect.NONE,):
        yield Result(
            code=_HARMED, severity=Severity.DATA_AT_RISK, message=message, locations=locations
        )


def _location(file: str, line: int) -> dict[str, object]:
    artifact = {"uri": quote(redact(file), errors="replace")}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": line}}}


FORMATS: dict[str, Callable[[Audit], Iterator[str]]] = {
    "text": render_text,
    "json": _json,
    "markdown": _markdown,
    "sarif": _sarif,
}
