"""`holdfast diagnose --format json`: the same answer for programs."""

from __future__ import annotations

import msgspec

from holdfast.cli.diagnosis_form import DiagnosisJson, FactJson, FindingJson
from holdfast.cli.diagnosis_text import say_verdict
from holdfast.diagnosis import Diagnosis, Fact
from holdfast.redact import redact
from holdfast.rules import Finding
from holdfast.version import __version__


def render_diagnosis_json(found: Diagnosis) -> str:
    """Return the text to print."""
    return encode(
        DiagnosisJson(
            holdfast=__version__,
            location=str(found.case.checkpoint.location),
            verdict=found.verdict,
            is_certain=found.is_certain,
            summary=redact(say_verdict(found)),
            decided_by=None if found.decided_by is None else found.decided_by.code,
            findings=tuple(map(_finding, found.findings)),
            facts=tuple(map(fact_json, found.facts)),
            not_judged=tuple(map(redact, found.not_judged)),
            not_asked=found.not_asked,
        )
    )


def encode(form: msgspec.Struct) -> str:
    """Return a form as people can read it too."""
    return msgspec.json.format(msgspec.json.encode(form), indent=2).decode()


def fact_json(fact: Fact) -> FactJson:
    """Return one fact in its form."""
    return FactJson(
        number=fact.number,
        name=fact.name,
        value=None if fact.value is None else redact(fact.value),
        where=redact(fact.where),
        command=None if fact.command is None else redact(fact.command),
    )


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
