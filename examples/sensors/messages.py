"""Sensor messages with a known exact answer.

The same seed gives the same messages, byte for byte, at the same partitions and offsets. Besides
ordinary readings there are late ones (an event time long before the messages around them),
duplicate-looking ones (same sensor, time and value as another reading, but a reading of their own)
and malformed ones, a few of each kind that `REASONS` names.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PARTITIONS = 4
READINGS_PER_SENSOR = 25
_START = datetime(2026, 11, 1, tzinfo=UTC)

NOT_UTF8 = "not UTF-8"
NOT_JSON = "not JSON"
NO_READING_ID = "no reading_id"
NO_SENSOR_ID = "no sensor_id"
BAD_EVENT_TIME = "event_time is not a timestamp"
BAD_VALUE = "value is not a number"
REASONS = (NOT_UTF8, NOT_JSON, NO_READING_ID, NO_SENSOR_ID, BAD_EVENT_TIME, BAD_VALUE)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reading:
    """One well-formed reading; ordered by the order in which readings supersede each other."""

    event_time: datetime
    reading_id: str
    sensor_id: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as it stands in the topic, with what must become of it."""

    partition: int
    offset: int
    timestamp: datetime
    key: bytes
    value: bytes
    becomes: Reading | str
    """The reading it carries, or the reason it goes to quarantine."""


def make_messages(count: int, *, seed: int) -> list[Message]:
    """Return messages that a producer sends in this order into an empty topic."""
    choose = random.Random(seed)  # noqa: S311 - test data, and the seed must be replayable
    next_offset = [0] * PARTITIONS
    messages = []
    previous = None
    for number in range(count):
        reading = _make_reading(number, count=count, choose=choose, previous=previous)
        previous = reading
        becomes: Reading | str = reading
        value = _encode(reading)
        if choose.random() < 0.01:
            becomes = REASONS[choose.randrange(len(REASONS))]
            value = _SPOIL[becomes](reading)
        partition = zlib.crc32(reading.sensor_id.encode()) % PARTITIONS
        messages.append(
            Message(
                partition=partition,
                offset=next_offset[partition],
                timestamp=_START + timedelta(milliseconds=number),
                key=reading.sensor_id.encode(),
                value=value,
                becomes=becomes,
            )
        )
        next_offset[partition] += 1
    return messages


def _make_reading(
    number: int, *, count: int, choose: random.Random, previous: Reading | None
) -> Reading:
    reading_id = f"r-{number:08d}"
    kind = choose.random()
    if previous is not None and kind < 0.02:
        return Reading(
            reading_id=reading_id,
            sensor_id=previous.sensor_id,
            event_time=previous.event_time,
            value=previous.value,
        )
    late = choose.randrange(3_600, 172_800) if kind < 0.07 else 0
    return Reading(
        reading_id=reading_id,
        sensor_id=f"s-{choose.randrange(max(1, count // READINGS_PER_SENSOR)):05d}",
        event_time=_START + timedelta(seconds=number - late),
        value=round(choose.gauss(20, 5), 3),
    )


def _fields(reading: Reading) -> dict[str, object]:
    return {
        "reading_id": reading.reading_id,
        "sensor_id": reading.sensor_id,
        "event_time": reading.event_time.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "value": reading.value,
    }


def _encode(reading: Reading, **changes: object) -> bytes:
    fields = {**_fields(reading), **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


_SPOIL: dict[str, Callable[[Reading], bytes]] = {
    NOT_UTF8: lambda reading: _encode(reading)[:-1] + b"\xff\xfe}",
    NOT_JSON: lambda reading: _encode(reading)[:-9],
    NO_READING_ID: lambda reading: _encode(reading, reading_id=None),
    NO_SENSOR_ID: lambda reading: _encode(reading, sensor_id=None),
    BAD_EVENT_TIME: lambda reading: _encode(reading, event_time="yesterday"),
    BAD_VALUE: lambda reading: _encode(reading, value="n/a"),
}


def raw_rows(messages: list[Message]) -> Iterator[tuple[object, ...]]:
    """Yield what the raw table must hold: partition, offset, timestamp, key, value."""
    for each in messages:
        yield each.partition, each.offset, each.timestamp, each.key, each.value


def typed_rows(messages: list[Message]) -> Iterator[tuple[object, ...]]:
    """Yield what the typed table must hold: the reading, and where it came from."""
    for each in messages:
        if isinstance(each.becomes, Reading):
            yield *reading_row(each.becomes), each.partition, each.offset


def quarantine_rows(messages: list[Message]) -> Iterator[tuple[object, ...]]:
    """Yield what the quarantine must hold: the value as it came, the reason, and where from."""
    for each in messages:
        if isinstance(each.becomes, str):
            yield each.value, each.becomes, each.partition, each.offset


def latest_rows(messages: list[Message]) -> Iterator[tuple[object, ...]]:
    """Yield what gold must hold, in Delta and in PostgreSQL: the latest reading of each sensor."""
    latest: dict[str, Reading] = {}
    for each in messages:
        if isinstance(each.becomes, Reading):
            known = latest.get(each.becomes.sensor_id)
            latest[each.becomes.sensor_id] = max(each.becomes, known or each.becomes)
    for reading in latest.values():
        yield reading_row(reading)


def reading_row(reading: Reading) -> tuple[object, ...]:
    """Return a reading as a row: reading_id, sensor_id, event_time, value."""
    return reading.reading_id, reading.sensor_id, reading.event_time, reading.value
