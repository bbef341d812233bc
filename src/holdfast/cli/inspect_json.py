"""`holdfast inspect --format json`: the same facts for programs, in a form that has a version."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from holdfast.bundle.secrets import clean_value
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources import Offset, OpaqueOffset
from holdfast.checkpoint.sources.auto_loader import AutoLoaderOffset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.iceberg import IcebergOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.checkpoint.sources.rate import CountOffset, RateMicroBatchOffset
from holdfast.checkpoint.state import NotCounted, Store
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.cli.guard_json import record_json
from holdfast.cli.inspect_cost_json import cost_json
from holdfast.cli.inspect_directory import DirectoryInspection
from holdfast.cli.inspect_directory_json import make_directory_document
from holdfast.cli.inspect_form import (
    BatchJson,
    DirectoryJson,
    FileJson,
    InspectJson,
    OperatorJson,
    ProbeJson,
    SinkJson,
    SourceJson,
    StoreJson,
    UnparsedJson,
)
from holdfast.cli.inspection import BatchDetail, Inspection
from holdfast.cli.next_start_json import next_start_json
from holdfast.cli.next_start_text import say_next_start
from holdfast.cli.what_to_do import say_what_to_do
from holdfast.evidence.progress import Progress, SourceRange
from holdfast.evidence.sources.probe import NotProbed, SourceProbe
from holdfast.evidence.state import OperatorState, provider_of
from holdfast.evidence.state_content import StoreContent
from holdfast.evidence.versions import version_text
from holdfast.redact import redact
from holdfast.version import __version__

_SOURCES: dict[type[Offset | None], str] = {
    KafkaOffset: "kafka",
    DeltaOffset: "delta",
    FileOffset: "files",
    IcebergOffset: "iceberg",
    AutoLoaderOffset: "auto-loader",
    RateMicroBatchOffset: "rate-micro-batch",
    CountOffset: "number",
    OpaqueOffset: "unknown",
    type(None): "none",
}


def render_json(found: Inspection | DirectoryInspection) -> str:
    """Return the document as indented text, in ASCII and without secrets."""
    document: InspectJson | DirectoryJson
    if isinstance(found, Inspection):
        document = make_document(found)
    else:
        document = make_directory_document(found)
    plain = _as_text(msgspec.to_builtins(document))
    return json.dumps(clean_value(plain, []), indent=2)


def _as_text(value: Any) -> Any:
    """Return a value whose strings are text: names of files need not be."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list | tuple):
        return [_as_text(each) for each in value]
    if isinstance(value, dict):
        return {_as_text(key): _as_text(each) for key, each in value.items()}
    return value


def make_document(inspection: Inspection) -> InspectJson:
    """Return the facts in the form that has a version."""
    overview = inspection.overview
    checkpoint, progress = overview.checkpoint, overview.progress
    query = checkpoint.metadata
    return InspectJson(
        holdfast=__version__,
        location=str(checkpoint.location),
        found=not checkpoint.is_empty,
        summary=tuple(say_next_start(overview)),
        next_start=next_start_json(overview.next_start, overview.spark),
        on_other_versions=tuple(
            next_start_json(each, version) for version, each in overview.elsewhere.items()
        ),
        query_id=query.query_id if isinstance(query, QueryMetadata) else None,
        written_by=tuple(map(version_text, overview.writers.versions)),
        readable_by=tuple(map(version_text, overview.readers.versions)),
        **_progress(progress),
        operators=tuple(map(_operator, overview.state)),
        leftovers=checkpoint.leftovers,
        forgotten_checksums=checkpoint.lone_sidecars,
        edited=checkpoint.stale_sidecars,
        foreign=checkpoint.foreign,
        unparsed=tuple(map(_unparsed, checkpoint.unparsed)),
        stores=_stores(inspection),
        batch=None if inspection.batch is None else _batch(checkpoint, inspection.batch),
        files=_files(inspection),
        verdict=inspection.verdict.value,
        passes_check=inspection.verdict.passes,
        what_to_do=say_what_to_do(overview, inspection.guard),
        record=record_json(inspection.record),
        probes=None if inspection.probes is None else tuple(map(_probe, inspection.probes)),
        cost=None if inspection.cost is None else cost_json(checkpoint, inspection.cost),
    )


def _probe(found: SourceProbe) -> ProbeJson:
    left = found.lossless_for
    return ProbeJson(
        source=found.source,
        shown=redact(found.shown),
        lossless_for_s=None if left is None else left.total_seconds(),
        lossless_by=redact(found.lossless_by),
        why_not=redact(found.found.why) if isinstance(found.found, NotProbed) else None,
    )


def _progress(progress: Progress) -> dict[str, Any]:
    """Return the fields that say how far the query has come."""
    return {
        "planned": progress.planned,
        "committed": progress.committed,
        "pending": progress.pending,
        "rewind": progress.rewind,
        "newest_ms": progress.newest_ms,
        "watermark_ms": progress.watermark_ms,
        "sources": tuple(map(_source, progress.sources)),
        "sinks": tuple(
            SinkJson(name=each.name, provider=each.provider, is_active=each.is_active)
            for each in progress.sinks
        ),
    }


def _source(found: SourceRange) -> SourceJson:
    return SourceJson(
        source=found.source,
        kind=_SOURCES[type(found.end)],
        start=msgspec.to_builtins(found.start, str_keys=True),
        end=msgspec.to_builtins(found.end, str_keys=True),
        amount=None if found.amount is None else found.amount.number,
        unit=None if found.amount is None else found.amount.unit,
    )


def _operator(found: OperatorState) -> OperatorJson:
    operator = found.operator
    return OperatorJson(
        operator_id=operator.operator_id,
        name=operator.name,
        provider=provider_of(operator),
        partitions=len({store.partition for store in operator.stores}),
        expected_partitions=found.partitions,
        versions=_versions(*operator.stores),
        needs_version=found.version,
        size_bytes=sum(store.size_bytes for store in operator.stores),
        missing=found.missing,
        damaged=found.damaged,
    )


def _versions(*stores: Store) -> tuple[int, ...]:
    return tuple(sorted({file.version for store in stores for file in store.files}))


def _unparsed(found: Unparsed) -> UnparsedJson:
    return UnparsedJson(path=found.path, reason=found.reason, unread=found.unread)


def _stores(inspection: Inspection) -> tuple[StoreJson, ...] | None:
    return None if inspection.stores is None else tuple(map(_store, inspection.stores))


def _store(found: StoreContent) -> StoreJson:
    store, rows = found.store, found.rows
    return StoreJson(
        directory=store.directory,
        operator_id=found.operator_id,
        partition=store.partition,
        store=store.name,
        versions=_versions(store),
        size_bytes=store.size_bytes,
        rows=rows if isinstance(rows, int) else None,
        why_not=rows.why if isinstance(rows, NotCounted) else None,
        damaged=tuple(map(_unparsed, found.damaged)),
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


def _files(inspection: Inspection) -> tuple[FileJson, ...] | None:
    if inspection.files is None:
        return None
    return tuple(FileJson(path=file.path, size_bytes=file.size_bytes) for file in inspection.files)
