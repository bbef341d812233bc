"""The form `json-v1` of `holdfast diagnose` and `holdfast facts`, from which the schema is made.

Within a version fields are added, never renamed or removed. The schema is committed as
docs/reference/diagnose.schema.json and docs/reference/facts.schema.json.
"""

from __future__ import annotations

import msgspec

FORMAT = "holdfast.diagnose/json-v1"
FACTS_FORMAT = "holdfast.facts/json-v1"


class FactJson(msgspec.Struct, rename="camel"):
    """One of the nine facts; `value` is null when it is not known.

    `command` would tell it, or the rest of it; null when nothing is missing.
    """

    number: int
    name: str
    value: str | None
    where: str
    command: str | None = None


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


class PositionJson(msgspec.Struct, rename="camel"):
    """How far one source is read, or one partition of it: `offset` is the next to be read."""

    source: str
    kind: str
    position: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None


class StartJson(msgspec.Struct, rename="camel"):
    """One start of a guarded stream.

    `ended` is `finished`, `stopped`, `failed`, `lost`, `not-recorded`, `running` or `unknown`.
    """

    epoch: int
    run_id: str
    ended: str
    where: str
    generation: int | None = None
    spark: str | None = None
    began_at: str | None = None
    ended_at: str | None = None
    error: str | None = None
    first_batch: int | None = None
    last_batch: int | None = None
    not_known: str | None = None


class FactsJson(msgspec.Struct, rename="camel", tag_field="format", tag=FACTS_FORMAT):
    """What `holdfast facts` found."""

    holdfast: str
    location: str
    facts: tuple[FactJson, ...]
    offsets: tuple[PositionJson, ...] = ()
    starts: tuple[StartJson, ...] | None = None
    """Newest first; null for a bare checkpoint, and where the record cannot be read."""
    older_starts: int = 0
    """Starts before those, which were not read."""
    not_read: tuple[str, ...] = ()
    """What was asked for and could not be read."""
