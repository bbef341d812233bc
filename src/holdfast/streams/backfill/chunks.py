"""A range in chunks, and the rows of a chunk as the stream's own function gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from holdfast.sources.ranges import NoRange, read_ranges
from holdfast.storage.read import Reader
from holdfast.streams.backfill.available import Available, without_expired
from holdfast.streams.backfill.positions import Position, boundary, encode_position
from holdfast.streams.batch_form import BatchForm, NoBatchForm, batch_form, without_options
from holdfast.streams.declared import Declared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_FOR_A_RANGE = ("startingversion", "failondataloss")
"""Where the stream begins says nothing about a range; and what expired must not be left out
silently."""


class Chunks(msgspec.Struct, frozen=True, kw_only=True):
    """A range, cut into chunks of about the same size."""

    start: Position
    end: Position
    count: int

    def at(self, number: int) -> Position:
        """Return where a chunk begins; the end of the range for the number after the last."""
        return boundary(self.start, self.end, number=number, chunks=self.count)


class ChunkReader(msgspec.Struct, frozen=True, kw_only=True):
    """Reads any part of a range as the stream would."""

    spark: SparkSession
    declared: Declared
    checkpoint: Reader
    """Of the stream: a file source keeps there which files it has read."""
    available: Mapping[str, Available]

    def read(self, start: Position, end: Position) -> BatchForm | NoBatchForm:
        """Return the rows between two positions; what has expired is left out."""
        moved = {source: offset for source, offset in end.items() if start[source] != offset}
        ranges = read_ranges(
            self.checkpoint, start=encode_position(start), end=encode_position(moved)
        )
        if isinstance(ranges, NoRange):
            return NoBatchForm(str(ranges))
        return batch_form(
            self.spark,
            without_options(self.declared, _NOT_FOR_A_RANGE),
            without_expired(ranges, self.available),
        )
