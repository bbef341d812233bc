"""What one `holdfast inspect` has looked at: the overview, and what was asked for beside it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import Overview, overview_of
from holdfast.evidence.progress import SourceRange, find_ranges
from holdfast.evidence.state_content import StoreContent
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


def inspect_checkpoint(
    reader: Reader,
    *,
    spark: SparkVersion | None = None,
    batch: int | None = None,
    state: bool = False,
    files: bool = False,
) -> Inspection:
    """Look at what was asked for."""
    overview = overview_of(collect(reader, rows=state), spark=spark)
    return Inspection(
        overview=overview,
        batch=None if batch is None else _look_at_batch(overview.checkpoint, BatchId(batch)),
        stores=overview.stores if state else None,
        files=tuple(sorted(reader.walk(), key=lambda info: info.path)) if files else None,
    )


def _look_at_batch(checkpoint: Checkpoint, batch_id: BatchId) -> BatchDetail:
    return BatchDetail(batch_id=batch_id, ranges=find_ranges(checkpoint, batch_id))
