"""What the messages must have become in every table, computed in plain Python.

Nothing here knows of batches: the answer is the same however Spark cuts the messages into them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import accumulate

from examples.sensors.messages import TOO_LATE, Message, Reading

WINDOW = timedelta(hours=1)
_DIGITS = Decimal("0.001")
"""Of a sum, as the tables have it: 19.5 and 19.500 are equal, and are not the same text."""
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many messages are of which kind."""

    messages: int
    duplicates: int
    """Carry a reading that an earlier message carried."""
    late: int
    """Readings that arrived after one with a later event time; they count."""
    too_late: int
    """Go to quarantine, because they arrived too long after their event time."""

    def __str__(self) -> str:
        return (
            f"{self.messages:,} messages, {self.duplicates:,} of them duplicates, "
            f"{self.late:,} late, {self.too_late:,} too late"
        )


def count(messages: Iterable[Message]) -> Counted:
    """Count the messages that a stateful stage must treat with care."""
    sent = list(messages)
    readings = [each for each in sent if isinstance(each.becomes, Reading)]
    times = [each.event_time for each in first_readings(sent)]
    late = sum(time < newest for time, newest in zip(times, accumulate(times, max), strict=True))
    return Counted(
        messages=len(sent),
        duplicates=len(readings) - len(times),
        late=late,
        too_late=sum(each.becomes == TOO_LATE for each in sent),
    )


def first_readings(messages: Iterable[Message]) -> Iterator[Reading]:
    """Yield every reading once, however often it was delivered."""
    seen = set()
    for each in messages:
        if isinstance(each.becomes, Reading) and each.becomes.reading_id not in seen:
            seen.add(each.becomes.reading_id)
            yield each.becomes


def raw_rows(messages: Iterable[Message]) -> Iterator[Row]:
    """Yield what the raw table must hold: partition, offset, timestamp, key, value."""
    for each in messages:
        yield each.partition, each.offset, each.timestamp, each.key, each.value


def typed_rows(messages: Iterable[Message]) -> Iterator[Row]:
    """Yield what the typed table must hold: every reading once, with its product."""
    for reading in first_readings(messages):
        yield *reading_row(reading), reading.product


def quarantine_rows(messages: Iterable[Message]) -> Iterator[Row]:
    """Yield what the quarantine must hold: the value as it came, the reason, and where from."""
    for each in messages:
        if isinstance(each.becomes, str):
            yield each.value, each.becomes, each.partition, each.offset


def latest_rows(messages: Iterable[Message]) -> Iterator[Row]:
    """Yield what gold must hold, in Delta and in PostgreSQL: the latest reading of each sensor."""
    latest: dict[str, Reading] = {}
    for reading in first_readings(messages):
        latest[reading.sensor_id] = max(reading, latest.get(reading.sensor_id, reading))
    for reading in latest.values():
        yield reading_row(reading)


def usage_rows(messages: Iterable[Message]) -> Iterator[Row]:
    """Yield what the usage must hold: product, start of the hour, readings, sum of their values."""
    usage: dict[tuple[str, datetime], tuple[int, Decimal]] = {}
    for reading in first_readings(messages):
        hour = reading.event_time.replace(minute=0, second=0)
        readings, total = usage.get((reading.product, hour), (0, Decimal(0)))
        usage[reading.product, hour] = (readings + 1, total + Decimal(str(reading.value)))
    for key, (readings, total) in usage.items():
        yield *key, readings, total.quantize(_DIGITS)


def reading_row(reading: Reading) -> Row:
    """Return a reading as a row: reading_id, sensor_id, event_time, value."""
    return reading.reading_id, reading.sensor_id, reading.event_time, reading.value
