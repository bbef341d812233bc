"""How far a query has come, and how far back it could go: read off its logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.checkpoint.commits import CommitEntry, NamedSink
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources import Offset, parse_offset
from holdfast.checkpoint.sources.auto_loader import AutoLoaderOffset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset, count_records
from holdfast.checkpoint.sources.rate import CountOffset, RateMicroBatchOffset
from holdfast.evidence.state import NOT_LOOKED, Looked, versions_of
from holdfast.ids import BatchId

# Offsets that are one number, and what that number counts.
_POSITIONS: dict[type[Offset], tuple[str, str]] = {
    DeltaOffset: ("version", "table version"),
    FileOffset: ("log_offset", "log entry"),
    AutoLoaderOffset: ("sequence", "file"),
    RateMicroBatchOffset: ("rows", "row"),
    CountOffset: ("value", "step"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much lies between two offsets."""

    number: int
    unit: str
    """One of them: `record`, `table version`, `log entry`, `file`, `row`, `step`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRange:
    """What one source gives to one batch."""

    source: str
    start: Offset | None
    """None when no entry says where it begins."""
    end: Offset | None
    """None when the source has no offset in the batch."""
    amount: Amount | None
    """None when it cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
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
        amount = measure(start, end, is_first=batch_id == 0)
        ranges.append(SourceRange(source=each.source, start=start, end=end, amount=amount))
    return tuple(ranges)


def measure(start: Offset | None, end: Offset | None, *, is_first: bool = False) -> Amount | None:
    """Say how much lies between two offsets of a source; None when that cannot be told."""
    if isinstance(end, KafkaOffset):
        records = count_records(start, end) if isinstance(start, KafkaOffset) else None
        return None if records is None else Amount(number=records, unit="record")
    if isinstance(end, FileOffset) and start is None and is_first:
        return Amount(number=end.log_offset + 1, unit="log entry")
    if end is None or type(start) is not type(end) or type(end) not in _POSITIONS:
        return None
    field, unit = _POSITIONS[type(end)]
    number = getattr(end, field) - getattr(start, field)
    # One that went back was made again; of Delta's table the same version can have more files.
    is_known = number > 0 or (number == 0 and start == end)
    return Amount(number=number, unit=unit) if is_known else None


def sources_behind(checkpoint: Checkpoint) -> tuple[str, ...]:
    """Name the Kafka sources that the newest entry takes back behind the entry before it."""
    newest = max(checkpoint.offsets, default=-1)
    entry, before = (checkpoint.offsets.get(BatchId(newest - back)) for back in (0, 1))
    if not isinstance(entry, OffsetEntry) or not isinstance(before, OffsetEntry):
        return ()
    old = {each.source: parse_offset(each.text) for each in before.offsets if each.text}
    new = {each.source: parse_offset(each.text) for each in entry.offsets if each.text}
    return tuple(source for source in new if _is_behind(new[source], old.get(source)))


def _is_behind(new: Offset, old: Offset | None) -> bool:
    if not isinstance(new, KafkaOffset) or not isinstance(old, KafkaOffset):
        return False
    return any(
        offset < old.partitions.get(topic, {}).get(number, offset)
        for topic, offsets in new.partitions.items()
        for number, offset in offsets.items()
    )


def _start(checkpoint: Checkpoint, source: str, starts: Mapping[str, str | None]) -> Offset | None:
    """Return where a source's range begins: the entry before, or of Kafka where it first began."""
    if (text := starts.get(source)) is not None:
        return parse_offset(text)
    for log in checkpoint.sources:
        if log.name == source and isinstance(log.began, KafkaOffset):
            return log.began
    return None


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
