"""What Spark's plan of a query says, in Holdfast's own words: values that every adapter returns."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TAG = "__holdfast_late"
"""A column of the sources: rows up to this event time were dropped as late."""


class SourceNode(msgspec.Struct, frozen=True, kw_only=True):
    """One source of a plan."""

    columns: frozenset[int]
    """Spark's ids of its columns: the same in every plan that uses this DataFrame."""
    display_name: str


class Untold(msgspec.Struct, frozen=True, kw_only=True):
    """What a query tells that does not say what the batch covers that it is in."""

    last_batch: int | None
    """The last batch that it has finished, in this run or before; None without one."""
    end_offsets: tuple[str | None, ...]
    """Of that batch, in canonical form, in the order of its sources; None: it has given nothing."""

    @property
    def known_ends(self) -> set[str]:
        """The ends of the sources that have given something."""
        return {each for each in self.end_offsets if each is not None}


class StaticSide(msgspec.Struct, frozen=True, kw_only=True):
    """Data of a streaming query that is not a stream."""

    display_name: str
    delta: str | None = None
    """Where it is, when it is a Delta table that is read as of now; None otherwise."""
    is_constant: bool = False
    """Whether it can never change: numbers, or a named version of a Delta table."""

    @property
    def doubt(self) -> str:
        """Why rows that are joined with it can be others today."""
        return f"it joins {self.display_name}, which is not a stream and can have changed since"


class Made(StrEnum):
    """How a column of the output comes from the operator with state."""

    KEY = "key"
    """From the columns that rows are grouped by."""
    COUNT = "count"
    """A count, which grows with every row."""
    VALUE = "value"
    ZERO = "zero"
    """A smallest or largest float: which of 0.0 and -0.0 it is depends on the order of rows."""
    ROUNDED = "rounded"
    """Its last digits depend on the order of rows."""


class NotDecided(msgspec.Struct, frozen=True):
    """Why the rows alone do not decide what a query with state gives."""

    reason: str


class Aggregation(msgspec.Struct, frozen=True, kw_only=True):
    """One aggregation."""

    columns: Mapping[str, Made]
    """Of the output."""
    event_time: int | None
    """Which grouping expression the watermark is of; None when no row is ever dropped as late."""
    output_mode: str


class Deduplication(msgspec.Struct, frozen=True, kw_only=True):
    """`dropDuplicates`, or `dropDuplicatesWithinWatermark`."""

    keys: tuple[str, ...]
    """The columns of the output that are its keys."""
    key_places: tuple[int, ...]
    """The same in the rows that go into it."""
    event_time: int | None
    """Which column of the rows that go into it has the watermark; None without one."""
    delay_ms: int | None
    """How long a key is remembered within the watermark; None when it is for good."""


StateShape = Aggregation | Deduplication


class OnTime(msgspec.Struct, frozen=True, kw_only=True):
    """A query with state over the rows that were not late."""

    df: DataFrame
    """What it gives; of a deduplication, every row of which one may be kept."""
    entering: DataFrame
    """The rows that go into the operator, with columns `c0`, `c1`, …"""
    late: DataFrame | None
    """The rows that were dropped as late, in the same form; None when there can be none."""
    given_late: DataFrame | None = None
    """What it would give of the late rows alone; None when there can be none."""
    unknown: DataFrame | None = None
    """What it gives of times of which it is not known which rows were late; None without."""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Event times that decide what is compared."""

    closed_ms: int | None = None
    """In append mode, the watermark up to which windows are closed; None otherwise."""
    unknown_until_ms: int | None = None
    """Up to where it is not known which rows were late; None when all is known."""


class WriterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a chain of `df.writeStream` has set."""

    df: DataFrame
    output_mode: str
    checkpoint: str | None
    """The option `checkpointLocation`; None without it."""
    has_function: bool
    """Whether `foreachBatch` or `foreach` was called."""
    format: str
    """Of the sink, as it was written; `foreachBatch` and `foreach` are formats too."""
    path: str | None
    """The option `path`; None without it."""
    query_name: str | None
    trigger: str
    """As Spark prints it."""


class LogStoreSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the application writes Delta's log with, as its own settings have it."""

    class_name: str | None
    """None for Delta's default."""
    is_loaded: bool
    """Whether the class is on the class path."""
    sends_condition: bool
    """Whether the file system of the table can create a file only if there is none."""
    hadoop: str
    """The version of Hadoop's client."""
