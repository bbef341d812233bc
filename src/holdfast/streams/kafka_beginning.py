"""Where a Kafka source began, when its checkpoint no longer says it.

Spark writes it into `sources/<i>/0` once. A checkpoint that was deleted and given back from the
ledgers does not have it any more. Then the options that the first run recorded tell it, unless the
stream began at the newest records.
"""

from __future__ import annotations

from typing import Any

from holdfast.checkpoint.text import canonical, parse_json_object
from holdfast.record.contracts import read_contract
from holdfast.record.runs import first_run, newest_run
from holdfast.sources.kafka.kind import KafkaOffset, Partitions, parse_kafka_offset
from holdfast.sources.registry import of_kind, parse_offset
from holdfast.storage.read import Reader

EARLIEST = "earliest"
_OLDEST = -2
"""Kafka's own number for the oldest offset."""
_BY_TIME = ("startingOffsetsByTimestamp", "startingTimestamp")


def find_beginnings(
    record: Reader, *, generation: int, end: str, given: str | None
) -> dict[str, Any]:
    """Return where the Kafka sources of a stream began, as far as that is known.

    Partitions that began with the oldest record begin at 0: if that has expired, they can no longer
    be read from there, and Spark says so.

    Args:
        record: Of the stream.
        generation: The one that began to read.
        end: Where the stream has ended, as canonical JSON.
        given: Where it began, as somebody says: `earliest`, or offsets as JSON; None without.

    Raises:
        ReadError, RecordError: The record cannot be read.
    """
    found = {}
    options = _options(record, generation)
    ends = {
        source: parse_offset(value if isinstance(value, str) else canonical(value))
        for source, value in (parse_json_object(end) or {}).items()
    }
    for source, offset in of_kind(ends, KafkaOffset).items():
        recorded = options[int(source)] if source.isdecimal() and int(source) < len(options) else {}
        by_time = any(name in recorded for name in _BY_TIME)
        text = given or ("" if by_time else recorded.get("startingOffsets", ""))
        began = _began(text, offset.partitions)
        if began is not None:
            found[source] = began
    return found


def _options(record: Reader, generation: int) -> tuple[dict[str, str], ...]:
    run = first_run(record, generation=generation) or newest_run(record)
    contract = None if run is None else read_contract(record, run.contract)
    return () if contract is None else contract.source_options


def _began(text: str, end: Partitions) -> dict[str, dict[str, int]] | None:
    if text == EARLIEST:
        return {topic: {str(number): 0 for number in offsets} for topic, offsets in end.items()}
    named = parse_kafka_offset(text) if text.startswith("{") else None
    if named is None:
        return None
    found: dict[str, dict[str, int]] = {}
    for topic, offsets in end.items():
        # A partition that was added later is read from its beginning.
        starts = {number: named.partitions.get(topic, {}).get(number, 0) for number in offsets}
        if any(at < 0 and at != _OLDEST for at in starts.values()):
            return None
        found[topic] = {str(number): max(at, 0) for number, at in starts.items()}
    return found
