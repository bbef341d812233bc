"""What a checkpoint costs, in the form that has a version."""

from __future__ import annotations

import msgspec

from holdfast.checkpoint.read import Checkpoint
from holdfast.cli.inspect_cost_text import say_retention, say_share
from holdfast.cli.inspection import CostDetail
from holdfast.evidence.cost import CheckpointCost, Compaction, PartCost, Range
from holdfast.evidence.cost_requests import Requests
from holdfast.evidence.progress_times import ReportedTimes
from holdfast.report.envelope import fill


class CostJson(msgspec.Struct):
    """What a checkpoint costs; what is not known is null, and `not_known` says why."""

    batches: int
    first: int | None
    """The first batch that was looked at."""
    parts: tuple[PartCost, ...]
    """What a batch writes to each (null if not known), and what is kept."""
    kept_files: int
    kept_bytes: int
    state_share: float | None
    interval_s: Range | None
    batch_s: Range | None
    times: ReportedTimes | None
    """How much of a batch's time the offset log and the commit log take, as Spark reports it."""
    requests: Requests | None
    """What a batch asks of S3 through s3a, estimated by its files."""
    kept_offsets: int
    compactions: tuple[Compaction, ...]
    providers: tuple[str, ...]
    """Of the state."""
    is_async: bool
    not_known: dict[str, str]


def cost_json(checkpoint: Checkpoint, found: CostDetail) -> CostJson:
    """Return what was found."""
    return fill(
        CostJson,
        found.cost,
        times=found.times if isinstance(found.times, ReportedTimes) else None,
        kept_offsets=len(checkpoint.offsets),
        not_known=_not_known(checkpoint, found, found.cost),
    )


def _not_known(checkpoint: Checkpoint, found: CostDetail, cost: CheckpointCost) -> dict[str, str]:
    """Return why, by the name of what is not known."""
    why = {"minBatchesToRetain": say_retention(checkpoint)}
    if not isinstance(found.times, ReportedTimes):
        why["times"] = say_share(found.times)
    if cost.batch_s is None:
        why["batch_s"] = cost.why_no_batch_s
    if cost.interval_s is None:
        why["interval_s"] = "it takes two batches with a time in offsets/"
    if any(part.files is None for part in cost.parts if part.name.startswith("state")):
        why["parts"] = "the times of RocksDB's data files are not those of their writing"
    return why
