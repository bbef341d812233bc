"""`holdfast check --format json`: the same answer for programs.

The schema is committed as docs/reference/check.schema.json.
"""

from __future__ import annotations

import msgspec

from holdfast.report.envelope import Answer, fill, render
from holdfast.rules import Finding
from holdfast.rules.compatibility import CodeCheck, StreamCheck


class QueryJson(msgspec.Struct):
    """A plain query, as the program would have started it."""

    where: str | None
    """The line that starts it."""
    checkpoint: str | None
    sources: tuple[str, ...]
    operators: tuple[str, ...]
    """Those with state, in the order of their ids."""
    sink: str
    output_mode: str
    trigger: str


class StreamCheckJson(msgspec.Struct):
    """One stream."""

    stream: str
    verdict: str
    newest_batch: int | None
    """None when the checkpoint has no batch."""
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    query: QueryJson | None
    """None of a guarded stream."""


class CheckJson(Answer, kw_only=True, tag_field="format", tag="holdfast.check"):
    """What `holdfast check` found."""

    version: int = 2
    pipeline: str
    """Its name; of a program, the file."""
    streams: tuple[StreamCheckJson, ...]
    unknown: tuple[str, ...]
    """Why a program may have more queries; empty when it was run to its end."""


def check_json(found: CodeCheck) -> str:
    """Return the text to print."""
    streams = tuple(_stream(each) for each in found.checks)
    return render(fill(CheckJson, found, version=2, pipeline=found.name, streams=streams))


def _stream(check: StreamCheck) -> StreamCheckJson:
    query = None if check.query is None else fill(QueryJson, check.query)
    return fill(StreamCheckJson, check, query=query)
