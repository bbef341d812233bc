"""`holdfast inspect --format json`: the same facts for programs, in a form that has a version.

There is one for a checkpoint and one for a directory of checkpoints; `format` tells them apart. The
schema is committed as docs/reference/inspect.schema.json.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.checkpoint.commits import NamedSink
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import NotCounted, Store
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.cli.event_log_form import EventLogJson
from holdfast.cli.event_log_json import event_log_json
from holdfast.cli.guard_json import RecordJson, record_json
from holdfast.cli.inspect_cost_json import CostJson, cost_json
from holdfast.cli.inspect_directory import DirectoryInspection
from holdfast.cli.inspect_directory_json import DirectoryJson, make_directory_document
from holdfast.cli.inspection import BatchDetail, Inspection
from holdfast.cli.next_start_json import NextStartJson, next_start_json
from holdfast.cli.next_start_text import say_next_start
from holdfast.evidence.progress import SourceRange
from holdfast.evidence.state import OperatorState, provider_of
from holdfast.evidence.state_content import StoreContent
from holdfast.judgement.advice import advise
from holdfast.judgement.judge import Verdict
from holdfast.report.envelope import Answer, fill, render
from holdfast.rules import Finding
from holdfast.sources.kind import Amount
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.sources.registry import unparsed_of
from holdfast.spark_versions import version_text
from holdfast.storage.read import FileInfo


class SourceJson(msgspec.Struct):
    """What one source gives to a batch."""

    source: str
    kind: str
    start: Any
    end: Any
    amount: Amount | None


class OperatorJson(msgspec.Struct):
    """One operator with state."""

    operator_id: int
    name: str | None
    provider: str | None
    partitions: int
    expected_partitions: int | None
    versions: tuple[int, ...]
    needs_version: int
    size_bytes: int
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


class StoreJson(msgspec.Struct):
    """One store in one partition, looked into."""

    directory: str
    operator_id: int
    partition: int
    store: str
    versions: tuple[int, ...]
    size_bytes: int
    rows: int | None
    why_not: str | None
    damaged: tuple[Unparsed, ...]


class BatchJson(msgspec.Struct):
    """One batch."""

    batch_id: int
    planned: bool
    committed: bool
    sources: tuple[SourceJson, ...]
    conf: dict[str, str]


class ProbeJson(msgspec.Struct):
    """What one source can still give; `why_not` when it could not be asked."""

    source: str
    display_name: str
    lossless_for_s: float | None
    lossless_by: str
    why_not: str | None


class InspectJson(Answer, kw_only=True, tag_field="format", tag="holdfast.inspect"):
    """What `holdfast inspect` found in a checkpoint."""

    version: int = 2
    location: str
    found: bool
    summary: tuple[str, ...]
    passes_check: bool
    what_to_do: str
    findings: tuple[Finding, ...]
    """What the rules of the checkpoint found; the gravest comes first."""
    next_start: NextStartJson
    on_other_versions: tuple[NextStartJson, ...]
    query_id: str | None
    written_by: tuple[str, ...]
    readable_by: tuple[str, ...]
    planned: tuple[int, ...]
    committed: tuple[int, ...]
    pending: tuple[int, ...]
    rewind: tuple[int, ...]
    newest_ms: int | None
    watermark_ms: int | None
    sources: tuple[SourceJson, ...]
    sinks: tuple[NamedSink, ...]
    operators: tuple[OperatorJson, ...]
    leftovers: tuple[str, ...]
    forgotten_checksums: tuple[str, ...]
    edited: tuple[str, ...]
    foreign: tuple[str, ...]
    unparsed: tuple[Unparsed, ...]
    stores: tuple[StoreJson, ...] | None
    batch: BatchJson | None
    files: tuple[FileInfo, ...] | None
    record: RecordJson | None
    probes: tuple[ProbeJson, ...] | None = None
    cost: CostJson | None = None
    event_log: EventLogJson | None = None


AnyInspectJson = InspectJson | DirectoryJson
"""What `--format json` prints."""


def render_json(found: Inspection | DirectoryInspection) -> str:
    """Return the text to print."""
    if isinstance(found, Inspection):
        return render(make_document(found))
    return render(make_directory_document(found))


def make_document(inspection: Inspection) -> InspectJson:
    """Return the facts in the form that has a version."""
    overview, judged = inspection.overview, inspection.judgement
    checkpoint, progress = overview.checkpoint, overview.progress
    query, batch, cost = checkpoint.metadata, inspection.batch, inspection.cost
    return fill(
        InspectJson,
        progress,
        version=2,
        verdict=judged.verdict,
        location=str(checkpoint.location),
        found=not checkpoint.is_empty,
        summary=tuple(say_next_start(overview)),
        passes_check=judged.verdict is Verdict.SAFE,
        what_to_do=advise(judged),
        findings=judged.findings,
        next_start=next_start_json(overview.next_start, overview.spark),
        on_other_versions=tuple(
            next_start_json(each, version) for version, each in overview.elsewhere.items()
        ),
        query_id=query.query_id if isinstance(query, QueryMetadata) else None,
        written_by=tuple(map(version_text, overview.writers.versions)),
        readable_by=tuple(map(version_text, overview.readers.versions)),
        sources=tuple(map(_source, progress.sources)),
        operators=tuple(map(_operator, overview.state)),
        leftovers=checkpoint.leftovers,
        forgotten_checksums=checkpoint.lone_sidecars,
        edited=checkpoint.stale_sidecars,
        foreign=checkpoint.foreign,
        unparsed=unparsed_of(checkpoint),
        stores=None if inspection.stores is None else tuple(map(_store, inspection.stores)),
        batch=None if batch is None else _batch(checkpoint, batch),
        files=inspection.files,
        record=record_json(inspection.record),
        probes=None if inspection.probes is None else tuple(map(_probe, inspection.probes)),
        cost=None if cost is None else cost_json(checkpoint, cost),
        event_log=event_log_json(judged.case.event_log, max(checkpoint.commits, default=-1)),
    )


def _probe(found: SourceProbe) -> ProbeJson:
    left = found.lossless_for
    return fill(
        ProbeJson,
        found,
        lossless_for_s=None if left is None else left.total_seconds(),
        why_not=found.found.why if isinstance(found.found, NotProbed) else None,
    )


def _source(found: SourceRange) -> SourceJson:
    return fill(SourceJson, found, kind="none" if found.end is None else found.end.kind.name)


def _operator(found: OperatorState) -> OperatorJson:
    operator = found.operator
    return fill(
        OperatorJson,
        found,
        operator_id=operator.operator_id,
        name=operator.name,
        provider=provider_of(operator),
        partitions=len({store.partition for store in operator.stores}),
        expected_partitions=found.partitions,
        versions=_versions(*operator.stores),
        needs_version=found.version,
        size_bytes=sum(store.size_bytes for store in operator.stores),
    )


def _versions(*stores: Store) -> tuple[int, ...]:
    return tuple(sorted({file.version for store in stores for file in store.files}))


def _store(found: StoreContent) -> StoreJson:
    store, rows = found.store, found.rows
    return fill(
        StoreJson,
        store,
        operator_id=found.operator_id,
        store=store.name,
        versions=_versions(store),
        rows=rows if isinstance(rows, int) else None,
        why_not=rows.why if isinstance(rows, NotCounted) else None,
        damaged=found.damaged,
    )


def _batch(checkpoint: Checkpoint, found: BatchDetail) -> BatchJson:
    entry = checkpoint.offsets.get(found.batch_id)
    metadata = entry.metadata if isinstance(entry, OffsetEntry) else None
    return BatchJson(
        batch_id=found.batch_id,
        planned=entry is not None,
        committed=found.batch_id in checkpoint.commits,
        sources=tuple(map(_source, found.ranges)),
        conf={} if metadata is None else dict(metadata.conf),
    )
