"""A ledger record: the ledger row and what it is pinned to, as the value of a Kafka record."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.row_json import row_from, row_values

FORMAT, VERSION = "holdfast.kafka-ledger", 1
_LONGEST_NAME = 249


class Pins(msgspec.Struct, frozen=True, kw_only=True):
    """Which topics a row was written into and with, and how far the data reached."""

    topic_id: str
    ledger_id: str
    begins: Mapping[int, int] = msgspec.field(default_factory=dict)
    """Of each partition, its end before the first batch; 0 where a row began with batches."""
    ends: Mapping[int, int] = msgspec.field(default_factory=dict)
    """Of each partition, an offset that it had reached with the last batch."""


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A row and its pins."""

    row: LedgerRow
    pins: Pins


def ledger_topic(stream: str, label: str) -> str:
    """Return the name of the ledger topic; it can be longer than Kafka takes."""
    return f"holdfast.{stream}.{label}"


def is_too_long(topic: str) -> bool:
    """Return whether Kafka takes no topic of this name."""
    return len(topic) > _LONGEST_NAME


def transactional_id(stream: str, label: str) -> str:
    """Return the name under which the broker fences the producers of a stream and sink.

    No stream has a point in its name, so no two streams and sinks have one id.
    """
    return f"holdfast.{stream}.{label}"


def key_of(stream: str, label: str) -> bytes:
    """Return the key of the ledger record."""
    return f"{stream}/{label}".encode()


def encode_record(record: LedgerRecord) -> bytes:
    """Return a record as JSON."""
    pins = record.pins
    values = {
        "format": FORMAT,
        "version": VERSION,
        **row_values(record.row),
        "topic_id": pins.topic_id,
        "ledger_id": pins.ledger_id,
        "begins": {str(each): at for each, at in pins.begins.items()},
        "ends": {str(each): at for each, at in pins.ends.items()},
    }
    return msgspec.json.encode(values)


def decode_record(value: bytes) -> LedgerRecord | None:
    """Return the record that JSON has; None when it is not one, or of a newer version."""
    values = parse_json_object(value.decode(errors="replace")) or {}
    row = row_from(values)
    ids = values.get("topic_id"), values.get("ledger_id")
    begins, ends = (_offsets(values.get(name)) for name in ("begins", "ends"))
    is_known = (values.get("format"), values.get("version")) == (FORMAT, VERSION)
    if not is_known or row is None or begins is None or ends is None:
        return None
    topic_id, ledger_id = ids
    if not isinstance(topic_id, str) or not isinstance(ledger_id, str):
        return None
    pins = Pins(topic_id=topic_id, ledger_id=ledger_id, begins=begins, ends=ends)
    return LedgerRecord(row=row, pins=pins)


def _offsets(given: object) -> dict[int, int] | None:
    if not isinstance(given, dict):
        return None
    found: dict[int, int] = {}
    for partition, offset in given.items():
        at = whole_number(offset)
        if not str(partition).isascii() or not str(partition).isdigit() or at is None:
            return None
        found[int(partition)] = at
    return found
