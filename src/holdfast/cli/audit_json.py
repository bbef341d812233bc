"""`holdfast audit --format json`: the same answer for programs.

The schema is committed as docs/reference/audit.schema.json.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.audit.model import Audit, AuditedQuery
from holdfast.grades import Effect
from holdfast.judgement.judge import Verdict
from holdfast.report.envelope import Answer, fill, render


class WrittenJson(msgspec.Struct):
    """A value of the program; null when the code computes it."""

    value: str | None
    place: str


class AuditRuleJson(msgspec.Struct):
    """A rule of lint that applies to a query."""

    code: str
    name: str
    severity: str
    message: str
    place: str


class AuditQueryJson(msgspec.Struct):
    """One streaming query."""

    file: str
    cell: int | None
    line: int
    name: str | None
    is_guarded: bool
    source: WrittenJson
    sink: WrittenJson
    output_mode: WrittenJson
    trigger: WrittenJson
    checkpoint: WrittenJson
    recognises: str
    """`yes`, `no`, `depends`, `not-kept` or `not-known`."""
    why: str
    why_place: str
    effects: tuple[str, ...]
    """What a restart after a kill does: `loses`, `repeats`, `fails`, `none`. Empty: not known."""
    confidence: str
    after_kill: str
    rules: tuple[AuditRuleJson, ...]
    changes: tuple[str, ...]
    jobs: tuple[str, ...]
    checkpoints: tuple[str, ...]


class AuditJobJson(msgspec.Struct):
    """A job definition; `file` is null when its program is not among the audited files."""

    place: str
    kind: str
    program: str
    parameters: tuple[str, ...]
    file: str | None


class NotUnderstoodJson(msgspec.Struct):
    """Something that may hold a query and was not judged."""

    place: str
    why: str


class AuditCheckpointJson(msgspec.Struct):
    """A checkpoint that exists; `queries` is empty when no query of the code names it."""

    location: str
    queries: tuple[str, ...]
    unread: str | None


class AuditJson(Answer, kw_only=True, tag_field="format", tag="holdfast.audit"):
    """What `holdfast audit` found; `checkpoints` is null when none were asked for."""

    files: int
    queries: tuple[AuditQueryJson, ...]
    jobs: tuple[AuditJobJson, ...]
    checkpoints: tuple[AuditCheckpointJson, ...] | None
    not_understood: tuple[NotUnderstoodJson, ...]


def audit_json(found: Audit) -> str:
    """Return the text to print."""
    checkpoints = found.checkpoints
    return render(
        fill(
            AuditJson,
            found,
            version=1,
            verdict=_verdict(found).value,
            queries=tuple(map(_query, found.queries)),
            jobs=_all(AuditJobJson, found.jobs),
            checkpoints=None if checkpoints is None else _all(AuditCheckpointJson, checkpoints),
            not_understood=_all(NotUnderstoodJson, found.not_understood),
        )
    )


def _verdict(found: Audit) -> Verdict:
    """Return the worst that a restart after a kill does to a query, in the words of `diagnose`."""
    for effect in Effect:
        if effect is not Effect.NONE and found.having(effect):
            return Verdict[effect.name]
    is_known = not found.not_known and not found.not_understood
    return Verdict.SAFE if is_known else Verdict.UNKNOWN


def _query(query: AuditedQuery) -> AuditQueryJson:
    written = ("source", "sink", "output_mode", "trigger", "checkpoint")
    facts = {name: fill(WrittenJson, getattr(query, name)) for name in written}
    return fill(AuditQueryJson, query, rules=_all(AuditRuleJson, query.rules), **facts)


def _all(form: Any, values: tuple[object, ...]) -> tuple[Any, ...]:
    return tuple(fill(form, each) for each in values)
