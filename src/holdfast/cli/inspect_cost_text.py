"""What a checkpoint costs, for people."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.read import Checkpoint
from holdfast.cli.inspection import CostDetail
from holdfast.cli.table import columns
from holdfast.evidence.cost import OTHER, CheckpointCost, PartCost, Range
from holdfast.evidence.progress_times import NoTimes, ReportedTimes
from holdfast.wording import count, size

PAGE = "docs/explanation/checkpoint-cost.md"
DEFAULT_RETAINED = 100
_NOT_KNOWN = "not known"


def render_cost(checkpoint: Checkpoint, found: CostDetail) -> list[str]:
    """Return the lines to show."""
    cost = found.cost
    if not cost.batches:
        return ["", "Cost: not known, because no batch is committed."]
    last = (cost.first or 0) + cost.batches - 1
    written = (
        "with asynchronous progress, Spark does not persist every batch"
        if cost.is_async
        else "Spark writes a checkpoint in every batch"
    )
    heads = ("  part", "files a batch", "bytes a batch", "files kept", "kept")
    rows = [heads, *map(_part_row, cost.parts), _total_row(cost)]
    return [
        "",
        f"Cost of {count(cost.batches, 'batch')} ({cost.first} … {last}); {written}:",
        *columns(rows),
        "",
        *columns([*_time_rows(found), *_kept_rows(checkpoint, cost)]),
    ]


def _part_row(part: PartCost) -> tuple[str, ...]:
    if part.name == OTHER:
        return "  other", "-", "-", f"{part.kept_files:,}", size(part.kept_bytes)
    files = _NOT_KNOWN if part.files is None else f"{part.files:,.1f}"
    written = _NOT_KNOWN if part.size_bytes is None else size(round(part.size_bytes))
    return f"  {part.name}", files, written, f"{part.kept_files:,}", size(part.kept_bytes)


def _total_row(cost: CheckpointCost) -> tuple[str, ...]:
    files, written = total_of(cost)
    return (
        "  total",
        _NOT_KNOWN if files is None else f"{files:,.1f}",
        _NOT_KNOWN if written is None else size(round(written)),
        f"{cost.kept_files:,}",
        size(cost.kept_bytes),
    )


def total_of(cost: CheckpointCost) -> tuple[float | None, float | None]:
    """Return the files and the bytes that one batch writes; None where a part is not known."""
    parts = [part for part in cost.parts if part.name != OTHER]
    files = [part.files for part in parts if part.files is not None]
    sizes = [part.size_bytes for part in parts if part.size_bytes is not None]
    is_known = len(files) == len(sizes) == len(parts)
    return (sum(files), sum(sizes)) if is_known else (None, None)


def _time_rows(found: CostDetail) -> Iterator[tuple[str, ...]]:
    cost = found.cost
    if cost.interval_s is None:
        yield "  interval", "not known: it takes two batches with a time in offsets/"
    else:
        yield "  interval", f"a batch every {_seconds(cost.interval_s)}; the trigger decides"
    if cost.batch_s is None:
        yield "  batch", f"not known: {cost.why_no_batch_s}"
    else:
        yield "  batch", f"{_seconds(cost.batch_s)} from offsets/N to commits/N"
    yield "  logs' share", say_share(found.times)
    if cost.requests is None:
        yield "  requests", "not known: the files of one batch are not"
    else:
        asked = cost.requests
        yield (
            "  requests",
            f"about {asked.writes:,.0f} writes (PUT, COPY, LIST), {asked.reads:,.0f} reads "
            f"(HEAD, GET) and {asked.deletes:,.0f} deletes a batch, on S3 through s3a",
        )


def say_share(times: ReportedTimes | NoTimes | None) -> str:
    """Say how much of a batch's time the two logs take, or what would tell."""
    if isinstance(times, ReportedTimes):
        low, middle, high = (each * 100 for each in (times.lowest, times.share, times.highest))
        return (
            f"{middle:.0f} % of a batch ({low:.0f} to {high:.0f}): {times.logs_ms:,.0f} of "
            f"{times.batch_ms:,.0f} ms, by Spark's progress of {count(times.batches, 'batch')}"
        )
    why = "" if times is None else f"{times.why}. "
    return f"not known: {why}Pass the driver's log or query.recentProgress as --progress FILE"


def _seconds(found: Range) -> str:
    return f"{found.median:,.1f} s ({found.lowest:,.1f} to {found.highest:,.1f})"


def _kept_rows(checkpoint: Checkpoint, cost: CheckpointCost) -> Iterator[tuple[str, ...]]:
    yield "  kept", say_retention(checkpoint)
    for each in cost.compactions:
        every = "after how many batches is not known" if each.every is None else ""
        every = every or f"after every {each.every} batches"
        yield "  compaction", f"{each.path} has {size(each.size_bytes)}: all entries, {every}"
    for provider in dict.fromkeys(cost.providers):
        yield "  state", f"{provider}; {_share(cost)}"
    yield "  see", f"what each setting changes, and what it gives up at a restart: {PAGE}"


def _share(cost: CheckpointCost) -> str:
    share = cost.state_share
    if share is None:
        return "share not known"
    return f"{share * 100:.0f} % of the bytes that a batch writes"


def say_retention(checkpoint: Checkpoint) -> str:
    """Say how many batches are kept, and what that tells about the setting."""
    kept = f"{count(len(checkpoint.offsets), 'entry')} in offsets/"
    first = min(checkpoint.offsets, default=0)
    if first == 0:
        return (
            f"{kept}; nothing was purged yet, so minBatchesToRetain is not known (by default "
            f"{DEFAULT_RETAINED}). The session has it: spark.conf.get("
            '"spark.sql.streaming.minBatchesToRetain")'
        )
    about = max(len(checkpoint.offsets) - 1, 1)
    return f"{kept}, older ones were purged: minBatchesToRetain is about {about}"
