"""`holdfast diagnose --format sarif`: findings at the files that they follow from."""

from __future__ import annotations

from urllib.parse import quote

from holdfast.cli.sarif import Result, render_sarif
from holdfast.judgement.judge import Judgement
from holdfast.redact import redact
from holdfast.rules import Finding, load_catalogue


def render_diagnosis_sarif(found: Judgement) -> str:
    """Return the text to print."""
    return render_sarif(
        "holdfast diagnose",
        ((rule.code, rule.name, rule.severity) for rule in load_catalogue().rules),
        (_result(each) for each in found.findings),
        not_judged=found.not_judged,
    )


def _result(finding: Finding) -> Result:
    locations = [
        {"physicalLocation": {"artifactLocation": {"uri": quote(redact(path), errors="replace")}}}
        for path in finding.follows_from
    ]
    return Result(
        code=finding.code,
        severity=finding.severity,
        message=f"{finding.what} {finding.how}",
        locations=locations,
    )
