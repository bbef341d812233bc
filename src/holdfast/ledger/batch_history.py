"""When each batch was planned: its watermark, the one before it, and where its sources ended.

Spark drops a row as late by the watermark of the batch *before* (`offsets/<N-1>`), and closes
windows by the watermark of the batch itself (`offsets/<N>`). From Spark 4.2
`runtime/WatermarkPropagator.scala` (PropagateWatermarkSimulator) and `MicroBatchExecution.scala`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.checkpoint.layout import OFFSETS, Kind, parse_name
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.sources.kind import Offset
from holdfast.sources.registry import parse_offset
from holdfast.storage.read import Reader


class PlannedBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One batch, as Spark planned it."""

    batch_id: int
    late_ms: int
    """Rows up to this event time are dropped as late by an operator with state."""
    watermark_ms: int
    """Windows that end up to this event time are closed by the batch."""
    ends: Mapping[str, Offset]
    """Where each source ended; a source without an offset is left out."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The batches of a query."""

    batches: tuple[PlannedBatch, ...]
    """Oldest first. The first stands for all before it, if their watermarks are not known."""
    unknown_until_ms: int | None = None
    """Whether a row up to this event time was late is not known; None when all is known."""

    @property
    def closed_ms(self) -> int:
        """The watermark up to which the last batch has closed windows."""
        return self.batches[-1].watermark_ms if self.batches else 0


def read_history(reader: Reader, *, first: int, last: int) -> History | Unparsed:
    """Return every batch from one to another.

    Spark deletes old entries. Then the oldest that is left stands for all before it: watermarks
    only grow, so no batch up to it has dropped a row that is later than its watermark.

    Args:
        reader: Of the checkpoint.
        first: The first batch that the query ran; the entry before it, if any, gives its watermark.
        last: The last batch.

    Raises:
        ReadError: The offset log cannot be listed.
    """
    names = (parse_name(info.path) for info in reader.list(OFFSETS).files)
    numbers = [each.batch_id for each in names if each.kind is Kind.ENTRY]
    oldest = min((number for number in numbers if number is not None), default=first)
    begin = max(first, oldest)
    is_known = begin == first and (first == 0 or oldest < first)
    entries: list[OffsetEntry] = []
    for number in range(begin if begin == 0 or not is_known else begin - 1, last + 1):
        entry = _read(reader, number)
        if isinstance(entry, Unparsed):
            return entry
        entries.append(entry)
    if not entries:
        return Unparsed(path=OFFSETS, reason="it has no entry of the batches")
    if is_known:
        late_ms = 0 if first == 0 else _watermark(entries.pop(0))
        return History(batches=tuple(_batches(entries, late_ms)))
    unknown = _watermark(entries[0])
    return History(batches=tuple(_batches(entries, unknown)), unknown_until_ms=unknown)


def _batches(entries: Sequence[OffsetEntry], late_ms: int) -> Iterator[PlannedBatch]:
    for entry in entries:
        ends = {
            each.source: parse_offset(each.text) for each in entry.offsets if each.text is not None
        }
        watermark = _watermark(entry)
        yield PlannedBatch(
            batch_id=entry.batch_id, late_ms=late_ms, watermark_ms=watermark, ends=ends
        )
        late_ms = watermark


def is_late_everywhere_alike(history: Sequence[PlannedBatch]) -> bool:
    """Return whether all batches dropped rows up to one event time."""
    return len({each.late_ms for each in history}) <= 1


def _read(reader: Reader, number: int) -> OffsetEntry | Unparsed:
    path = f"{OFFSETS}/{number}"
    raw = read_whole(reader, path)
    if raw is None:
        return Unparsed(path=path, reason="it is not there")
    entry = raw if isinstance(raw, Unparsed) else parse_offset_entry(path, BatchId(number), raw)
    if isinstance(entry, OffsetEntry) and entry.metadata is None:
        return Unparsed(path=path, reason="it has no watermark")
    return entry


def _watermark(entry: OffsetEntry) -> int:
    assert entry.metadata is not None
    # Spark takes a watermark below 0 as 0.
    return max(entry.metadata.batch_watermark_ms, 0)
