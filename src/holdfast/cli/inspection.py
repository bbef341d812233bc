"""What one `holdfast inspect` has looked at: the overview, and what was asked for beside it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.cost import CheckpointCost, find_cost
from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord, settle_state
from holdfast.evidence.overview import Overview, overview_of
from holdfast.evidence.progress import SourceRange, find_ranges
from holdfast.evidence.progress_times import NoTimes, ReportedTimes, read_times
from holdfast.evidence.state_content import StoreContent
from holdfast.ids import BatchId
from holdfast.judgement.judge import Judgement, judge
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.spark_versions import SparkVersion
from holdfast.storage.read import FileInfo, Reader


class BatchDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One batch, as `--batch` asks for it."""

    batch_id: BatchId
    ranges: tuple[SourceRange, ...]


class CostDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What the checkpoint costs, as `--cost` asks for it."""

    cost: CheckpointCost
    times: ReportedTimes | NoTimes | None = None
    """By Spark's own progress; None if no file was given."""


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at."""

    judgement: Judgement
    """Of what the checkpoint, the record beside it and the sources that were asked tell."""
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
    def overview(self) -> Overview:
        """What the checkpoint alone tells."""
        return self.judgement.overview

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


Record = GuardRecord | UnreadableRecord | None
Probe = Callable[[Checkpoint], tuple[SourceProbe, ...]]


def inspect_checkpoint(  # noqa: PLR0913 - what one command asks for, each by name
    reader: Reader,
    *,
    spark: SparkVersion | None = None,
    batch: int | None = None,
    state: bool = False,
    files: bool = False,
    record: Record = None,
    root: str | None = None,
    probe: Probe | None = None,
    add_event_log: Callable[[Case], Case] | None = None,
) -> Inspection:
    """Look at what was asked for, and judge it.

    Args:
        reader: Of the checkpoint.
        spark: The version that will be started; by default the newest that can have written it.
        batch: To show its ranges and settings.
        state: Whether the state files that the next start loads are opened.
        files: Whether every file is listed.
        record: Of the stream, beside the checkpoint.
        root: Where that record is.
        probe: Asks the sources what they can still give.
        add_event_log: Adds the history of the query in Spark's event log.
    """
    guard = record if isinstance(record, GuardRecord) else None
    overview = settle_state(overview_of(collect(reader, rows=state), spark=spark), guard)
    checkpoint = overview.checkpoint
    probes = None if probe is None else probe(checkpoint)
    case = replace(_case(overview, record, root), sources=probes or ())
    return Inspection(
        judgement=judge(case if add_event_log is None else add_event_log(case)),
        batch=None if batch is None else _look_at_batch(checkpoint, BatchId(batch)),
        stores=overview.stores if state else None,
        files=tuple(sorted(reader.walk(), key=lambda info: info.path)) if files else None,
        probes=probes,
        record=record,
    )


def _case(overview: Overview, record: Record, root: str | None) -> Case:
    guard = record if isinstance(record, GuardRecord) else None
    return Case(
        checkpoint=overview.checkpoint,
        now=clock.now(),
        overview=overview,
        record=guard,
        root=None if guard is None or guard.is_replaced else root,
        record_unread=record.why if isinstance(record, UnreadableRecord) else None,
    )


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
