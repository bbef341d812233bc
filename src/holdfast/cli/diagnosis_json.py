"""`holdfast diagnose --format json`: the same answer for programs."""

from __future__ import annotations

import msgspec

from holdfast import __version__
from holdfast.cli.diagnosis_form import DiagnosisJson, FactJson, FactsJson, FindingJson
from holdfast.cli.diagnosis_text import say_verdict
from holdfast.diagnosis import Diagnosis, Fact
from holdfast.redact import redact
from holdfast.rules import Finding


def render_diagnosis_json(found: Diagnosis) -> str:
    """Return the text to print."""
    return _encode(
        DiagnosisJson(
            holdfast=__version__,
            location=str(found.case.checkpoint.location),
            verdict=found.verdict,
            is_certain=found.is_certain,
            summary=redact(say_verdict(found)),
            decided_by=None if found.decided_by is None else found.decided_by.code,
            findings=tuple(map(_finding, found.findings)),
            facts=tuple(map(_fact, found.facts)),
            not_judged=tuple(map(redact, found.not_judged)),
            not_asked=found.not_asked,
        )
    )


def render_facts_json(location: str, facts: tuple[Fact, ...]) -> str:
    """Return the text to print."""
    known = tuple(map(_fact, facts))
    return _encode(FactsJson(holdfast=__version__, location=redact(location), facts=known))


def _encode(form: DiagnosisJson | FactsJson) -> str:
    return msgspec.json.format(msgspec.json.encode(form), indent=2).decode()


def _fact(fact: Fact) -> FactJson:
    value = None if fact.value is None else redact(fact.value)
    return FactJson(number=fact.number, name=fact.name, value=value, where=redact(fact.where))


def _finding(finding: Finding) -> FindingJson:
    amount = finding.amount
    return FindingJson(
        code=finding.code,
        name=finding.name,
        severity=finding.severity,
        confidence=finding.confidence,
        effect=finding.effect,
        goal=finding.goal,
        what=redact(finding.what),
        how=redact(finding.how),
        follows_from=tuple(map(redact, finding.follows_from)),
        amount=None if amount is None else amount.number,
        unit=None if amount is None else amount.unit,
        sink=finding.sink,
    )
