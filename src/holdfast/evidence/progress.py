"""How far a query has come, and how far back it could go: read off its logs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.commits import CommitEntry, NamedSink
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.state import NOT_LOOKED, Looked, versions_of
from holdfast.ids import BatchId
from holdfast.sources.kind import Amount, Behind, Offset
from holdfast.sources.registry import beginnings, parse_offset


class SourceRange(msgspec.Struct, frozen=True, kw_only=True):
    """What one source gives to one batch."""

    source: str
    start: Offset | None
    """None when no entry says where it begins."""
    end: Offset | None
    """None when the source has no offset in the batch."""
    amount: Amount | None
    """None when it cannot be told."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a query has come."""

    planned: tuple[BatchId, ...]
    """Batches with an offset entry, lowest first."""
    committed: tuple[BatchId, ...]
    """Batches with a commit entry, lowest first."""
    pending: tuple[BatchId, ...]
    """Batches above the newest commit entry that were planned."""
    newest_ms: int | None
    """When the newest planned batch began, by the driver's clock."""
    watermark_ms: int | None
    """What the next batch starts from; None when there is none."""
    sources: tuple[SourceRange, ...]
    """Of the newest planned batch."""
    sinks: tuple[NamedSink, ...]
    """As the newest commit entry names them; most commit entries name none."""
    rewind: tuple[BatchId, ...]
    """Batches after which the query could be made to stand again, lowest first."""


def find_progress(checkpoint: Checkpoint, looked: Looked = NOT_LOOKED) -> Progress:
    """Read off the logs how far a query has come."""
    planned, committed = tuple(checkpoint.offsets), tuple(checkpoint.commits)
    last_done = committed[-1] if committed else -1
    newest = checkpoint.offsets[planned[-1]] if planned else None
    entry = newest if isinstance(newest, OffsetEntry) else None
    return Progress(
        planned=planned,
        committed=committed,
        pending=tuple(batch for batch in planned if batch > last_done),
        newest_ms=entry.metadata.batch_timestamp_ms if entry and entry.metadata else None,
        watermark_ms=_watermark(checkpoint, entry),
        sources=() if entry is None else find_ranges(checkpoint, entry.batch_id),
        sinks=_sinks(checkpoint),
        rewind=_rewind_window(checkpoint, looked),
    )


def find_needed(checkpoint: Checkpoint) -> dict[str, Offset]:
    """Return the offset from which the next batch reads, by the source's place in the entries.

    A pending batch is run again, so its start is needed; else it is the end of the newest batch. A
    source of which that is not known is left out.
    """
    progress = find_progress(checkpoint)
    needed = {}
    for each in progress.sources:
        offset = each.start if progress.pending else each.end
        if offset is not None:
            needed[each.source] = offset
    return needed


def find_ranges(checkpoint: Checkpoint, batch_id: BatchId) -> tuple[SourceRange, ...]:
    """Say what each source gives to a batch; nothing when its entry cannot be read."""
    entry = checkpoint.offsets.get(batch_id)
    if not isinstance(entry, OffsetEntry):
        return ()
    before = checkpoint.offsets.get(BatchId(batch_id - 1))
    starts: dict[str, str | None] = {}
    if isinstance(before, OffsetEntry):
        starts = {each.source: each.text for each in before.offsets}
    is_known = batch_id == 0 or isinstance(before, OffsetEntry)
    ranges = []
    for each in entry.offsets:
        end = None if each.text is None else parse_offset(each.text)
        start = _start(checkpoint, each.source, starts) if is_known else None
        amount = None if end is None else end.measure(start, is_first=batch_id == 0)
        ranges.append(SourceRange(source=each.source, start=start, end=end, amount=amount))
    return tuple(ranges)


def sources_behind(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Name the sources that the newest entry takes back, so that Spark reads again."""
    newest = max(checkpoint.offsets, default=-1)
    entry, before = (checkpoint.offsets.get(BatchId(newest - back)) for back in (0, 1))
    if not isinstance(entry, OffsetEntry) or not isinstance(before, OffsetEntry):
        return ()
    old = {each.source: parse_offset(each.text) for each in before.offsets if each.text}
    new = {each.source: parse_offset(each.text) for each in entry.offsets if each.text}
    return tuple(
        source
        for source, offset in new.items()
        if offset.kind.behind is Behind.READS_AGAIN and offset.is_lower(old.get(source))
    )


def _start(checkpoint: Checkpoint, source: str, starts: Mapping[str, str | None]) -> Offset | None:
    """Return where a source's range begins: the entry before, or where its first run began."""
    if (text := starts.get(source)) is not None:
        return parse_offset(text)
    return beginnings(checkpoint).get(source)


def _sinks(checkpoint: Checkpoint) -> tuple[NamedSink, ...]:
    commits = [each for each in checkpoint.commits.values() if isinstance(each, CommitEntry)]
    return (commits[-1].sinks or ()) if commits else ()


def _watermark(checkpoint: Checkpoint, entry: OffsetEntry | None) -> int | None:
    if entry is None or entry.metadata is None:
        return None
    commit = checkpoint.commits.get(entry.batch_id)
    after = commit.next_watermark_ms if isinstance(commit, CommitEntry) else None
    return max(entry.metadata.batch_watermark_ms, after or 0) or None


def _rewind_window(checkpoint: Checkpoint, looked: Looked) -> tuple[BatchId, ...]:
    """Return the batches k with offsets/k, the entry before it, commits/k and state k + 1."""
    versions = versions_of(checkpoint, looked)
    return tuple(
        batch
        for batch, commit in checkpoint.commits.items()
        if isinstance(commit, CommitEntry)
        and isinstance(checkpoint.offsets.get(batch), OffsetEntry)
        and (batch == 0 or isinstance(checkpoint.offsets.get(BatchId(batch - 1)), OffsetEntry))
        and (versions is None or batch + 1 in versions)
    )


def has_only_begun(checkpoint: Checkpoint) -> bool:
    """Return whether all that is left is what a start writes before it plans batch 0."""
    numbers = (each for log in checkpoint.sources for each in (*log.entries, *log.compacts))
    is_begun = bool(checkpoint.sources) and max(numbers, default=0) == 0
    return is_begun and not checkpoint.commits and not checkpoint.state


def has_run(checkpoint: Checkpoint) -> bool:
    """Return whether anything in a checkpoint without offset entries shows an earlier run."""
    return bool(checkpoint.commits or checkpoint.state or checkpoint.sources)
