"""`holdfast check --format json`: the same answer for programs.

The schema is committed as docs/reference/check.schema.json.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.cli.check_lines import worst
from holdfast.report.envelope import Answer, fill, render
from holdfast.rules import Finding
from holdfast.rules.compatibility import StreamCheck


class StreamCheckJson(msgspec.Struct):
    """One stream."""

    stream: str
    verdict: str
    newest_batch: int | None
    """None when the checkpoint has no batch."""
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]


class CheckJson(Answer, kw_only=True, tag_field="format", tag="holdfast.check"):
    """What `holdfast check` found."""

    version: int = 2
    pipeline: str
    streams: tuple[StreamCheckJson, ...]


def check_json(pipeline: str, checks: Sequence[StreamCheck]) -> str:
    """Return the text to print."""
    streams = tuple(fill(StreamCheckJson, each) for each in checks)
    return render(CheckJson(verdict=worst(checks), pipeline=pipeline, streams=streams))
