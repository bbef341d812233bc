"""What rules about the logs share: entries that were understood, and words for what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from holdfast.checkpoint.offsets import OffsetEntry, OffsetMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.progress import SourceRange
from holdfast.ids import BatchId
from holdfast.sources.kind import Amount
from holdfast.wording import batch_range, count

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def with_settings(checkpoint: Checkpoint) -> list[tuple[BatchId, OffsetMetadata]]:
    """Return the second lines of the offset entries that have one, lowest batch first."""
    return [
        (batch, entry.metadata)
        for batch, entry in checkpoint.offsets.items()
        if isinstance(entry, OffsetEntry) and entry.metadata is not None
    ]


def total_of(ranges: Iterable[SourceRange]) -> Amount | None:
    """Return how much several sources give together; None if it is unknown."""
    amounts = [each.amount for each in ranges]
    units = {each.unit for each in amounts if each is not None}
    if not amounts or None in amounts or len(units) != 1:
        return None
    return Amount(number=sum(each.number for each in amounts if each), unit=units.pop())


def amount_text(amount: Amount | None) -> str:
    """Return ` (12 records)`, or nothing when it is not known."""
    return "" if amount is None else f" ({count(amount.number, amount.unit)})"


def batches_text(batches: Sequence[int]) -> str:
    """Return `batch 4`, `batches 4 to 6` or `batches 4, 7 and 9`."""
    if list(batches) == list(range(batches[0], batches[-1] + 1)):
        return batch_range(batches[0], batches[-1])
    if len(batches) > 6:
        return f"{len(batches)} batches between {batches[0]} and {batches[-1]}"
    return f"batches {', '.join(map(str, batches[:-1]))} and {batches[-1]}"


def span_text(milliseconds: float) -> str:
    """Return `3 days`, `5 h`, `12 min` or `8 s`."""
    seconds = milliseconds / 1_000
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def moment_text(milliseconds: int) -> str:
    """Return `2026-11-15 06:00 UTC`; the number where no calendar here has it."""
    try:
        moment = datetime.fromtimestamp(0, tz=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms after 1970"
    return f"{moment:%Y-%m-%d %H:%M} UTC"
