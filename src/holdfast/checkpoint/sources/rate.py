"""Spark's own test sources: rate and rate-micro-batch.

From Spark 4.2 `sources/RateStreamMicroBatchStream.scala` and `RatePerMicroBatchStream.scala`:

    26                                  rate: seconds since the start time
    {"offset":16,"timestamp":3000}      rate-micro-batch: rows so far, event time in ms

`sources/<i>/0` of rate is a versioned text with the start time in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.checkpoint.text import parse_versioned, whole_number
from holdfast.checkpoint.unparsed import Unparsed


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOffset:
    """A bare number: seconds of rate, lines of a socket, rows of a memory stream."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateMicroBatchOffset:
    """Rows so far, and the event time of the next."""

    rows: int
    timestamp_ms: int


def make_rate_micro_batch_offset(found: dict[str, Any]) -> RateMicroBatchOffset | None:
    """Make a rate-micro-batch offset of a JSON object; None when it is not one."""
    rows, timestamp = whole_number(found.get("offset")), whole_number(found.get("timestamp"))
    if found.keys() != {"offset", "timestamp"} or rows is None or timestamp is None:
        return None
    return RateMicroBatchOffset(rows=rows, timestamp_ms=timestamp)


def parse_start_time(path: str, raw: bytes) -> int | Unparsed:
    """Read `sources/<i>/0` of a rate source: its start time in milliseconds."""
    text = parse_versioned(path, raw, newest=1)
    if isinstance(text, Unparsed):
        return text
    if len(text.lines) != 1 or not text.lines[0].isdecimal() or len(text.lines[0]) > 19:
        return Unparsed(path=path, reason="line 2 is not a time in milliseconds")
    return int(text.lines[0])
