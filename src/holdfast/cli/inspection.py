"""What one `holdfast inspect` has looked at: the overview, and what was asked for beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.read import count_files
from holdfast.evidence.overview import Overview, needed_version, overview_of
from holdfast.evidence.progress import Amount, SourceRange, find_ranges
from holdfast.evidence.state_content import StoreContent, look_into_state, seen_by
from holdfast.evidence.versions import SparkVersion
from holdfast.ids import BatchId
from holdfast.storage.read import FileInfo, Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDetail:
    """One batch, as `--batch` asks for it."""

    batch_id: BatchId
    ranges: tuple[SourceRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was looked at."""

    overview: Overview
    batch: BatchDetail | None = None
    stores: tuple[StoreContent, ...] | None = None
    """None when not asked for."""
    files: tuple[FileInfo, ...] | None = None
    """None when not asked for."""


def inspect_checkpoint(  # noqa: PLR0913 - what can be asked for, each by name
    reader: Reader,
    checkpoint: Checkpoint,
    *,
    spark: SparkVersion | None = None,
    batch: int | None = None,
    state: bool = False,
    files: bool = False,
) -> Inspection:
    """Look at what was asked for."""
    stores = look_into_state(reader, checkpoint, needed_version(checkpoint), rows=state)
    overview = overview_of(checkpoint, spark=spark, looked=seen_by(stores))
    if overview.progress.pending:
        overview = _count_pending_files(reader, overview)
    return Inspection(
        overview=overview,
        batch=None if batch is None else _look_at_batch(checkpoint, BatchId(batch)),
        stores=stores if state else None,
        files=tuple(sorted(reader.walk(), key=lambda info: info.path)) if files else None,
    )


def _count_pending_files(reader: Reader, overview: Overview) -> Overview:
    """Say of a pending batch how many files it has, not how many entries of the source's log."""
    logs = {log.name: log for log in overview.checkpoint.sources}
    sources = []
    for each in overview.progress.sources:
        files = None
        if isinstance(each.end, FileOffset) and each.amount and each.source in logs:
            end = each.end.log_offset
            files = count_files(
                reader, logs[each.source], range(end - each.amount.number + 1, end + 1)
            )
        amount = each.amount if files is None else Amount(number=files, unit="file")
        sources.append(replace(each, amount=amount))
    return replace(overview, progress=replace(overview.progress, sources=tuple(sources)))


def _look_at_batch(checkpoint: Checkpoint, batch_id: BatchId) -> BatchDetail:
    return BatchDetail(batch_id=batch_id, ranges=find_ranges(checkpoint, batch_id))
