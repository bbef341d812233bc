"""Words and numbers as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

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
