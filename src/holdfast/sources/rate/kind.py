"""Spark's own test sources: rate and rate-micro-batch.

From Spark 4.2 `sources/RateStreamMicroBatchStream.scala` and `RatePerMicroBatchStream.scala`:

    26                                  rate: seconds since the start time
    {"offset":16,"timestamp":3000}      rate-micro-batch: rows so far, event time in ms

`sources/<i>/0` of rate is a versioned text with the start time in milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from holdfast.checkpoint.text import (
    parse_json,
    parse_json_object,
    parse_versioned,
    whole_number,
)
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.sources.kind import ONLY, DescribedSource, Offset, Part, SourceKind, StartTime


class Number(SourceKind):
    """Sources whose offset is a bare number: rate, a socket, a memory stream."""

    name = "number"
    label = "rate, socket or memory"

    def parse(self, text: str) -> CountOffset | None:
        """Read a bare number."""
        value = whole_number(parse_json(text))
        return None if value is None else CountOffset(value=value)

    def describe_source(self, description: str) -> DescribedSource | None:
        """Read `RateStreamV2[rowsPerSecond=1, …`, which Spark does not close."""
        return DescribedSource(name="rate") if description.startswith("RateStreamV2[") else None

    def parse_beginning(self, path: str, raw: bytes) -> StartTime | Unparsed:
        """Read `sources/<i>/0` of a rate source: its start time in milliseconds."""
        text = parse_versioned(path, raw, newest=1)
        if isinstance(text, Unparsed):
            return text
        if len(text.lines) != 1 or not text.lines[0].isdecimal() or len(text.lines[0]) > 19:
            return Unparsed(path=path, reason="line 2 is not a time in milliseconds")
        return StartTime(epoch_ms=int(text.lines[0]))


class RateMicroBatch(SourceKind):
    """The source rate-micro-batch."""

    name = "rate-micro-batch"
    label = "rate-micro-batch"
    unit = "row"

    def parse(self, text: str) -> RateMicroBatchOffset | None:
        """Read the offset of rate-micro-batch."""
        found = parse_json_object(text) or {}
        rows, timestamp = whole_number(found.get("offset")), whole_number(found.get("timestamp"))
        if found.keys() != {"offset", "timestamp"} or rows is None or timestamp is None:
            return None
        return RateMicroBatchOffset(rows=rows, timestamp_ms=timestamp)

    def describe_source(self, description: str) -> DescribedSource | None:
        """Read `RatePerMicroBatchStream[rowsPerBatch=3, …]`."""
        is_own = description.startswith("RatePerMicroBatchStream[")
        return DescribedSource(name=self.name) if is_own else None


NUMBER = Number()
RATE_MICRO_BATCH = RateMicroBatch()
KINDS = (NUMBER, RATE_MICRO_BATCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountOffset(Offset):
    """A bare number: seconds of rate, lines of a socket, rows of a memory stream."""

    kind: ClassVar[SourceKind] = NUMBER
    value: int

    def describe(self, source: str) -> str:
        """Show the number."""
        return f"at offset {self.value:,}"

    def numbers(self) -> Mapping[Part, int]:
        """Return the number."""
        return {ONLY: self.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class RateMicroBatchOffset(Offset):
    """Rows so far, and the event time of the next."""

    kind: ClassVar[SourceKind] = RATE_MICRO_BATCH
    rows: int
    timestamp_ms: int

    def describe(self, source: str) -> str:
        """Show the number of rows."""
        return f"at row {self.rows:,}"

    def numbers(self) -> Mapping[Part, int]:
        """Return the number of rows."""
        return {ONLY: self.rows}
