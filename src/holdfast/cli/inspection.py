"""What one `holdfast inspect` has looked at: the overview, and what was asked for beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.collect import collect
from holdfast.evidence.cost import CheckpointCost, find_cost
from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord, settle_state
from holdfast.evidence.overview import Overview, overview_of
from holdfast.evidence.progress import SourceRange, find_ranges
from holdfast.evidence.progress_times import NoTimes, ReportedTimes, read_times
from holdfast.evidence.sources.probe import NotProbed, SourceProbe
from holdfast.evidence.state_content import StoreContent
from holdfast.evidence.verdict import Verdict, judge_start
from holdfast.evidence.versions import SparkVersion
from holdfast.ids import BatchId
from holdfast.storage.read import FileInfo, Reader

if TYPE_CHECKING:
    from holdfast.diagnosis.probing import SourceLooks


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDetail:
    """One batch, as `--batch` asks for it."""

    batch_id: BatchId
    ranges: tuple[SourceRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostDetail:
    """What the checkpoint costs, as `--cost` asks for it."""

    cost: CheckpointCost
    times: ReportedTimes | NoTimes | None = None
    """By Spark's own progress; None if no file was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was looked at."""

    overview: Overview
    batch: BatchDetail | None = None
    stores: tuple[StoreContent, ...] | None = None
    """None when not asked for."""
    files: tuple[FileInfo, ...] | None = None
    """None when not asked for."""
    probes: tuple[SourceProbe, ...] | None = None
    """What the sources can still give; None when not asked for."""
    cost: CostDetail | None = None
    """None when not asked for."""
    record: GuardRecord | UnreadableRecord | None = None
    """Of the stream, beside the checkpoint; None when there is none."""

    @property
    def guard(self) -> GuardRecord | None:
        """The record, where it could be read."""
        return self.record if isinstance(self.record, GuardRecord) else None

    @property
    def is_probed(self) -> bool:
        """Whether every source has said what it can still give."""
        return self.probes is not None and self.unanswered is None

    @property
    def unanswered(self) -> str | None:
        """Why a source that was to be asked did not say what it has; None if all did."""
        if self.probes == ():
            return "no readable offset entry names a source to ask"
        silent = (each.found.why for each in self.probes or () if isinstance(each.found, NotProbed))
        return next(silent, None)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the next start."""
        checkpoint, guard = self.overview.checkpoint, self.guard
        is_recognised = guard is not None and guard.recognises_batches(checkpoint)
        return judge_start(checkpoint, self.overview.next_start, has_ledgers=is_recognised)


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


def with_record(
    inspection: Inspection, record: GuardRecord | UnreadableRecord | None
) -> Inspection:
    """Return what was looked at, and what the record beside it says."""
    found = replace(inspection, record=record)
    return replace(found, overview=settle_state(found.overview, found.guard))


def with_probes(inspection: Inspection, reader: Reader, looks: SourceLooks) -> Inspection:
    """Return what was looked at, and what the sources can still give."""
    from holdfast.diagnosis.probing import probe_sources  # noqa: PLC0415 - imports the diagnosis

    checkpoint = inspection.overview.checkpoint
    return replace(inspection, probes=probe_sources(checkpoint, reader, looks))


def with_cost(inspection: Inspection, reader: Reader, progress: str | None) -> Inspection:
    """Return what was looked at, and what the checkpoint costs.

    Args:
        inspection: So far.
        reader: Of the checkpoint: every file is listed, none is opened.
        progress: A text with Spark's progress of the query; None if there is none.
    """
    checkpoint = inspection.overview.checkpoint
    own = checkpoint.metadata
    query_id = own.query_id if isinstance(own, QueryMetadata) else None
    times = None if progress is None else read_times(progress, query_id)
    return replace(
        inspection, cost=CostDetail(cost=find_cost(checkpoint, reader.walk()), times=times)
    )


def _look_at_batch(checkpoint: Checkpoint, batch_id: BatchId) -> BatchDetail:
    return BatchDetail(batch_id=batch_id, ranges=find_ranges(checkpoint, batch_id))
