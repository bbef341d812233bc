"""The form `json-v1` of `holdfast diagnose` and `holdfast facts`, from which the schema is made.

Within a version fields are added, never renamed or removed. The schema is committed as
docs/reference/diagnose.schema.json.
"""

from __future__ import annotations

import msgspec

FORMAT = "holdfast.diagnose/json-v1"
FACTS_FORMAT = "holdfast.facts/json-v1"


class FactJson(msgspec.Struct, rename="camel"):
    """One of the nine facts; `value` is null when it is not known."""

    number: int
    name: str
    value: str | None
    where: str


class FindingJson(msgspec.Struct, rename="camel"):
    """What one rule found."""

    code: str
    name: str
    severity: str
    confidence: str
    effect: str
    goal: str
    what: str
    how: str
    follows_from: tuple[str, ...]
    amount: int | None
    unit: str | None
    sink: str | None


class DiagnosisJson(msgspec.Struct, rename="camel", tag_field="format", tag=FORMAT):
    """What `holdfast diagnose` found; the gravest finding comes first."""

    holdfast: str
    location: str
    verdict: str
    is_certain: bool
    summary: str
    decided_by: str | None
    findings: tuple[FindingJson, ...]
    facts: tuple[FactJson, ...]
    not_judged: tuple[str, ...]
    not_asked: tuple[str, ...]


class FactsJson(msgspec.Struct, rename="camel", tag_field="format", tag=FACTS_FORMAT):
    """What `holdfast facts` found."""

    holdfast: str
    location: str
    facts: tuple[FactJson, ...]
