"""Sensor messages with a known exact answer, which `answers.py` computes.

The same seed gives the same messages, byte for byte, at the same partitions and offsets. Besides
ordinary readings there are:

- late ones: their event time is up to two hours before the message arrived. They count.
- redelivered ones: the same bytes again, at another offset, as a producer does that retries.
- duplicate-looking ones: sensor, time and value of another reading, but a reading of their own.
- ones whose clock is wrong: two days behind or ahead of the message that carries them.
- malformed ones.

A message of one of the last two kinds becomes no reading; `REASONS` names why.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

PARTITIONS = 4
PRODUCTS = 8
READINGS_PER_SENSOR = 25
LATEST = timedelta(hours=3)
"""How long after its event time a reading may arrive; `parsing.py` decides by it."""
_REDELIVERED_WITHIN = timedelta(hours=1)
_WRONG_CLOCK = timedelta(days=2)
_START = datetime(2026, 11, 1, tzinfo=UTC)

NOT_UTF8 = "not UTF-8"
NOT_JSON = "not JSON"
NO_READING_ID = "no reading_id"
NO_SENSOR_ID = "no sensor_id"
BAD_EVENT_TIME = "event_time is not a timestamp"
BAD_VALUE = "value is not a number"
TOO_LATE = "event_time is too long ago"
AHEAD = "event_time is in the future"
MALFORMED = (NOT_UTF8, NOT_JSON, NO_READING_ID, NO_SENSOR_ID, BAD_EVENT_TIME, BAD_VALUE)
REASONS = (*MALFORMED, TOO_LATE, AHEAD)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Reading:
    """One well-formed reading; ordered by the order in which readings supersede each other."""

    event_time: datetime
    reading_id: str
    sensor_id: str
    product: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message as it stands in the topic, with what must become of it."""

    partition: int
    offset: int
    timestamp: datetime
    """When it arrived."""
    key: bytes
    value: bytes
    becomes: Reading | str
    """The reading it carries, or the reason it goes to quarantine."""


def make_messages(count: int, *, seed: int) -> list[Message]:
    """Return messages that a producer sends in this order into an empty topic, one each second."""
    # Two generators: what the second one draws does not move the sensors and their partitions.
    choose, spoil = random.Random(seed), random.Random(~seed)  # noqa: S311 - must be replayable
    next_offset = [0] * PARTITIONS
    last_of: dict[str, Message] = {}
    messages = []
    previous = None
    for number in range(count):
        reading = _make_reading(number, count=count, choose=choose, previous=previous)
        previous = reading
        arrived = _START + timedelta(seconds=number)
        value, becomes = _spoiled(reading, choose=choose)
        kind, last = spoil.random(), last_of.get(reading.sensor_id)
        if kind < 0.03 and last is not None and arrived - last.timestamp < _REDELIVERED_WITHIN:
            value, becomes = last.value, _again(last, arrived)
        elif kind > 0.995:
            becomes = spoil.choice((TOO_LATE, AHEAD))
            value = _with_wrong_clock(reading, becomes)
        partition = zlib.crc32(reading.sensor_id.encode()) % PARTITIONS
        message = Message(
            partition=partition,
            offset=next_offset[partition],
            timestamp=arrived,
            key=reading.sensor_id.encode(),
            value=value,
            becomes=becomes,
        )
        next_offset[partition] += 1
        last_of[reading.sensor_id] = message
        messages.append(message)
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
            product=previous.product,
            event_time=previous.event_time,
            value=previous.value,
        )
    late = choose.randrange(3_600, 172_800) // 24 if kind < 0.07 else 0
    sensor = choose.randrange(max(1, count // READINGS_PER_SENSOR))
    return Reading(
        reading_id=reading_id,
        sensor_id=f"s-{sensor:05d}",
        product=f"product-{sensor % PRODUCTS}",
        event_time=_START + timedelta(seconds=number - late),
        value=round(choose.gauss(20, 5), 3),
    )


def _spoiled(reading: Reading, *, choose: random.Random) -> tuple[bytes, Reading | str]:
    """Return the message of a reading, one in a hundred malformed, and what it becomes."""
    if choose.random() >= 0.01:
        return _encode(reading), reading
    reason = MALFORMED[choose.randrange(len(MALFORMED))]
    return _SPOIL[reason](reading), reason


def _again(message: Message, arrived: datetime) -> Reading | str:
    """Return what a message becomes that is delivered once more: it may be too late by now."""
    found = message.becomes
    return TOO_LATE if isinstance(found, Reading) and arrived - found.event_time > LATEST else found


def _with_wrong_clock(reading: Reading, reason: str) -> bytes:
    off = _WRONG_CLOCK if reason == AHEAD else -_WRONG_CLOCK
    return _encode(reading, event_time=_as_text(reading.event_time + off))


def _as_text(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _encode(reading: Reading, **changes: object) -> bytes:
    fields = {
        "reading_id": reading.reading_id,
        "sensor_id": reading.sensor_id,
        "product": reading.product,
        "event_time": _as_text(reading.event_time),
        "value": reading.value,
        **changes,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode()


_SPOIL: dict[str, Callable[[Reading], bytes]] = {
    NOT_UTF8: lambda reading: _encode(reading)[:-1] + b"\xff\xfe}",
    NOT_JSON: lambda reading: _encode(reading)[:-9],
    NO_READING_ID: lambda reading: _encode(reading, reading_id=None),
    NO_SENSOR_ID: lambda reading: _encode(reading, sensor_id=None),
    BAD_EVENT_TIME: lambda reading: _encode(reading, event_time="yesterday"),
    BAD_VALUE: lambda reading: _encode(reading, value="n/a"),
}
