"""Words and numbers as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from holdfast.checkpoint.sources import Offset, OpaqueOffset
from holdfast.checkpoint.sources.auto_loader import AutoLoaderOffset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.iceberg import IcebergOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.checkpoint.sources.rate import CountOffset, RateMicroBatchOffset
from holdfast.evidence.progress import Amount, SourceRange
from holdfast.evidence.versions import SparkVersion, version_text

_SHOWN_TOPICS = 3
_SHOWN_TEXT = 60
_KINDS: dict[type[Offset], str] = {
    FileOffset: "files",
    IcebergOffset: "iceberg table",
    AutoLoaderOffset: "files of Auto Loader",
    RateMicroBatchOffset: "rate-micro-batch",
    CountOffset: "rate, socket or memory",
    OpaqueOffset: "unknown source",
}
_PLURALS = {
    "log entry": "log entries",
    "entry": "entries",
    "batch": "batches",
    "directory": "directories",
    "entry of the source's log": "entries of the source's log",
}


def count(number: int, unit: str) -> str:
    """Return `1 record`, `12,340 records`."""
    return f"{number:,} {unit if number == 1 else _PLURALS.get(unit, f'{unit}s')}"


def batch_range(first: int, last: int) -> str:
    """Return `batch 4`, `batches 4 to 6`."""
    return f"batch {first}" if first == last else f"batches {first} to {last}"


def batches(numbers: Sequence[int]) -> str:
    """Return `none`, `7`, `0 … 41`, and with its gaps `0 … 3, 5 … 41`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    shown = [" … ".join(f"{each}" for each in run) for run in runs]
    if len(shown) > 6:
        shown[3:-2] = [f"({len(shown) - 5} more ranges)"]
    return ", ".join(shown) or "none"


def versions(found: Sequence[SparkVersion]) -> str:
    """Return `Spark 4.0 or 4.1`."""
    names = list(map(version_text, found))
    if not names:
        return "unknown"
    return "Spark " + " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def size(number: int) -> str:
    """Return `17 B`, `2.3 MB`."""
    value, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{number:,} B" if unit == "B" else f"{value:,.1f} {unit}"


def moment(epoch_ms: int) -> str:
    """Return a time in UTC; a number that is no time is shown as it is."""
    try:
        return f"{datetime.fromtimestamp(epoch_ms / 1000, tz=UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{epoch_ms} ms"


def age(epoch_ms: int, now: datetime) -> str:
    """Return `3 h 12 min`."""
    seconds = int(now.timestamp() - epoch_ms / 1000)
    if seconds < 0:
        return "in the future"
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days:,} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds} s"


def ago(epoch_ms: int, now: datetime) -> str:
    """Return `3 h 12 min ago`."""
    if now.timestamp() < epoch_ms / 1000:
        return "in the future, by this machine's clock"
    return f"{age(epoch_ms, now)} ago"


def duration(length: timedelta) -> str:
    """Return a length of time in its largest units: `6 d 23 h`, `31 h`, `5 min`, `4 s`."""
    seconds = max(int(length.total_seconds()), 0)
    hours = seconds // 3600
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    if hours >= 2:
        return f"{hours} h"
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"


def source_kind(offset: Offset | None) -> str:
    """Name a source by its offset: the entry does not."""
    if isinstance(offset, KafkaOffset):
        names = sorted(offset.partitions)
        more = f" and {len(names) - _SHOWN_TOPICS} more" if len(names) > _SHOWN_TOPICS else ""
        return f"kafka {', '.join(names[:_SHOWN_TOPICS])}{more}"
    if isinstance(offset, DeltaOffset):
        return f"delta table {offset.table_id}"
    return "no offset" if offset is None else _KINDS[type(offset)]


def position(offset: Offset | None, source: str) -> str:
    """Say how far a source is read.

    Args:
        offset: Its newest.
        source: Its name in the checkpoint: `0`.
    """
    match offset:
        case KafkaOffset():
            total = sum(each for part in offset.partitions.values() for each in part.values())
            shown = f"{count(offset.partition_count, 'partition')}, offsets add up to {total:,}"
        case DeltaOffset(version=version, index=index):
            shown = f"at table version {version:,}" + ("" if index < 0 else f", file {index}")
        case FileOffset(log_offset=number):
            shown = "no file read yet" if number < 0 else f"read up to sources/{source}/{number}"
        case None:
            shown = "not read yet, or its offset was removed"
        case _:
            shown = f"at {_step(offset)}"
    return shown


def _step(
    offset: IcebergOffset | AutoLoaderOffset | RateMicroBatchOffset | CountOffset | OpaqueOffset,
) -> str:
    match offset:
        case IcebergOffset(snapshot_id=snapshot, position=number):
            shown = f"snapshot {snapshot}, file {number:,}"
        case AutoLoaderOffset(sequence=number):
            shown = f"file {number:,} of its log"
        case RateMicroBatchOffset(rows=number):
            shown = f"row {number:,}"
        case CountOffset(value=number):
            shown = f"offset {number:,}"
        case OpaqueOffset(text=text):
            shown = text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"
    return shown


def amount(found: Amount | None) -> str:
    """Return `12,340 records`; say when it is unknown."""
    if found is None:
        return "unknown amount"
    if found.number == 0:
        return "no data"
    # A file source counts the entries of its own log in `sources/`.
    unit = "entry of the source's log" if found.unit == "log entry" else found.unit
    return count(found.number, unit)


def describe_range(found: SourceRange) -> str:
    """Say what a source gives to a batch: `kafka sensors, 8 partitions, 12,340 records`."""
    kind = source_kind(found.end)
    if isinstance(found.end, KafkaOffset):
        kind = f"{kind}, {count(found.end.partition_count, 'partition')}"
    return kind if found.end is None else f"{kind}, {amount(found.amount)}"


def describe_position(found: SourceRange) -> str:
    """Say how far a source is read: `kafka sensors, 8 partitions, offsets add up to 1,204`."""
    kind = source_kind(found.end)
    return kind if found.end is None else f"{kind}, {position(found.end, found.source)}"
