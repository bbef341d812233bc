"""`holdfast diagnose --format json`: the same answer for programs.

The schema is committed as docs/reference/diagnose.schema.json.
"""

from __future__ import annotations

from holdfast.cli.diagnosis_text import say_verdict
from holdfast.judgement.fact import Fact
from holdfast.judgement.judge import Judgement
from holdfast.report.envelope import Answer, fill, render
from holdfast.rules import Finding


class DiagnosisJson(Answer, kw_only=True, tag_field="format", tag="holdfast.diagnose"):
    """What `holdfast diagnose` found; the gravest finding comes first."""

    version: int = 2
    location: str
    is_certain: bool
    summary: str
    decided_by: str | None
    """The code of the finding that the verdict follows from."""
    findings: tuple[Finding, ...]
    facts: tuple[Fact, ...]
    not_judged: tuple[str, ...]
    not_asked: tuple[str, ...]


def render_diagnosis_json(found: Judgement) -> str:
    """Return the text to print."""
    return render(
        fill(
            DiagnosisJson,
            found,
            version=2,
            location=str(found.case.checkpoint.location),
            summary=say_verdict(found),
            decided_by=None if found.decided_by is None else found.decided_by.code,
        )
    )
