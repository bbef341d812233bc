"""The form `json-v1` of `holdfast check`: its fields, from which the schema is made.

Within a version fields are added, never renamed or removed. The schema is committed as
docs/reference/check.schema.json.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.cli.check_lines import worst
from holdfast.redact import redact
from holdfast.rules import Finding
from holdfast.rules.compatibility import StreamCheck

FORMAT = "holdfast.check/json-v1"


class CheckFindingJson(msgspec.Struct, rename="camel"):
    """One finding."""

    code: str
    name: str
    severity: str
    confidence: str
    effect: str
    goal: str
    what: str
    how: str
    follows_from: tuple[str, ...]


class StreamCheckJson(msgspec.Struct, rename="camel"):
    """One stream."""

    stream: str
    verdict: str
    newest_batch: int | None
    """None when the checkpoint has no batch."""
    findings: tuple[CheckFindingJson, ...]
    unknown: tuple[str, ...]


class CheckJson(msgspec.Struct, rename="camel"):
    """The answer."""

    format: str
    version: int
    pipeline: str
    verdict: str
    streams: tuple[StreamCheckJson, ...]


def check_json(pipeline: str, checks: Sequence[StreamCheck]) -> bytes:
    """Return the answer as JSON."""
    answer = CheckJson(
        format=FORMAT,
        version=1,
        pipeline=pipeline,
        verdict=worst(checks).value,
        streams=tuple(map(_stream, checks)),
    )
    return msgspec.json.format(msgspec.json.encode(answer), indent=2)


def _stream(check: StreamCheck) -> StreamCheckJson:
    return StreamCheckJson(
        stream=check.stream,
        verdict=check.verdict.value,
        newest_batch=check.newest_batch,
        findings=tuple(map(_finding, check.findings)),
        unknown=tuple(map(redact, check.unknown)),
    )


def _finding(finding: Finding) -> CheckFindingJson:
    return CheckFindingJson(
        code=finding.code,
        name=finding.name,
        severity=finding.severity.value,
        confidence=finding.confidence.value,
        effect=finding.effect.value,
        goal=finding.goal.value,
        what=redact(finding.what),
        how=redact(finding.how),
        follows_from=tuple(map(redact, finding.follows_from)),
    )
