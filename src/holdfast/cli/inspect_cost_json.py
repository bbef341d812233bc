"""What a checkpoint costs, in the form that has a version."""

from __future__ import annotations

from holdfast.checkpoint.read import Checkpoint
from holdfast.cli.inspect_cost_text import say_retention, say_share
from holdfast.cli.inspect_form import (
    CompactionJson,
    CostJson,
    PartCostJson,
    RangeJson,
    RequestsJson,
    TimesJson,
)
from holdfast.cli.inspection import CostDetail
from holdfast.evidence.cost import CheckpointCost, PartCost, Range
from holdfast.evidence.progress_times import ReportedTimes


def cost_json(checkpoint: Checkpoint, found: CostDetail) -> CostJson:
    """Return what was found."""
    cost, asked = found.cost, found.cost.requests
    return CostJson(
        batches=cost.batches,
        first_batch=cost.first,
        parts=tuple(map(_part, cost.parts)),
        kept_files=cost.kept_files,
        kept_bytes=cost.kept_bytes,
        state_share=cost.state_share,
        interval_s=_range(cost.interval_s),
        batch_s=_range(cost.batch_s),
        times=_times(found),
        requests=None
        if asked is None
        else RequestsJson(writes=asked.writes, reads=asked.reads, deletes=asked.deletes),
        kept_offsets=len(checkpoint.offsets),
        compactions=tuple(
            CompactionJson(path=each.path, size_bytes=each.size_bytes, every=each.every)
            for each in cost.compactions
        ),
        state=cost.providers,
        is_async=cost.is_async,
        not_known=_not_known(checkpoint, found, cost),
    )


def _part(part: PartCost) -> PartCostJson:
    return PartCostJson(
        name=part.name,
        files_per_batch=part.files,
        bytes_per_batch=part.size_bytes,
        kept_files=part.kept_files,
        kept_bytes=part.kept_bytes,
    )


def _range(found: Range | None) -> RangeJson | None:
    if found is None:
        return None
    return RangeJson(median=found.median, lowest=found.lowest, highest=found.highest)


def _times(found: CostDetail) -> TimesJson | None:
    times = found.times
    if not isinstance(times, ReportedTimes):
        return None
    share = RangeJson(median=times.share, lowest=times.lowest, highest=times.highest)
    return TimesJson(
        batches=times.batches, batch_ms=times.batch_ms, logs_ms=times.logs_ms, share=share
    )


def _not_known(checkpoint: Checkpoint, found: CostDetail, cost: CheckpointCost) -> dict[str, str]:
    """Return why, by the name of what is not known."""
    why = {"minBatchesToRetain": say_retention(checkpoint)}
    if not isinstance(found.times, ReportedTimes):
        why["times"] = say_share(found.times)
    if cost.batch_s is None:
        why["batchS"] = cost.why_no_batch_s
    if cost.interval_s is None:
        why["intervalS"] = "it takes two batches with a time in offsets/"
    if any(part.files is None for part in cost.parts if part.name.startswith("state")):
        why["parts"] = "the times of RocksDB's data files are not those of their writing"
    return why
