"""A declared stream as a batch job: the same transformation over exactly given ranges.

Proof and backfill both need it. The function of the stream is called twice: once with the streams
themselves, to learn which source of the checkpoint is which, and once with their ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.sources.ranges import Ranges, SourceRange
from holdfast.sources.reading import Make, NoBatchForm, Reading
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.plans import SourceNode, StateShape, StaticSide
from holdfast.spark.port import port_of
from holdfast.streams.batch_reader import (
    Batches,
    Noted,
    Notes,
    Session,
    SourcePart,
    opening_of,
    stream_of,
)
from holdfast.streams.declared import Declared

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "BatchForm",
    "HasState",
    "KeptState",
    "NoBatchForm",
    "batch_form",
    "read_sources",
    "without_options",
]
Tag = Callable[[SourcePart], Make | NoBatchForm]
"""From a range to what opens it in another way."""
_OTHER_SESSION = "its function reads a stream other than by the session it is given"


class BatchForm(msgspec.Struct, frozen=True, kw_only=True):
    """A stream as a batch job."""

    df: DataFrame
    """A batch DataFrame with the rows that the stream gives for the ranges."""
    doubts: tuple[str, ...]
    """Why the rows can be others than the stream gave; empty when nothing is known to vary."""
    state: KeptState | None = None
    """None for a query without state."""
    sides: tuple[StaticSide, ...] = ()
    """Data that is not a stream, and may have changed since."""

    @property
    def all_doubts(self) -> tuple[str, ...]:
        """Why the rows can be others, data that is not a stream among it."""
        return (*self.doubts, *(side.doubt for side in self.sides))


class KeptState(msgspec.Struct, frozen=True, kw_only=True):
    """What a query with state has done to its rows."""

    shape: StateShape
    entering: DataFrame
    """The rows that went into the operator with state, with columns `c0`, `c1`, …"""
    late: int
    """How many rows it has dropped as late."""
    given_late: DataFrame | None = None
    """What it would give of these rows alone; None when there are none."""
    unknown: DataFrame | None = None
    """What it gives up to a time of which it is not known which rows were late; None without."""
    unknown_until_ms: int | None = None


class HasState(NoBatchForm):
    """The stream keeps state: its batches cannot be run again one by one."""


def batch_form(
    spark: SparkSession, declared: Declared, ranges: Ranges, *, tag: Tag | None = None
) -> BatchForm | NoBatchForm:
    """Return a stream as a batch job over a range of each source; nothing runs yet.

    Args:
        spark: The session.
        declared: The stream.
        ranges: Of each source that has an offset; see `holdfast.sources.ranges`.
        tag: Changes what opens a source, for a stream that may keep state; without it such a
            stream has no batch form.
    """
    try:
        notes = Notes(spark)
        stream = declared.build(Session(spark, notes.open))
        port = port_of(spark)
        state = port.find_state(stream)
        if state and tag is None:
            return HasState(f"it keeps state: {', '.join(state)}")
        opened = _opened(spark, notes, port.source_nodes(stream), ranges=ranges, tag=tag)
        if isinstance(opened, NoBatchForm):
            return opened
        df = declared.build(Session(spark, Batches(opened).open))
    except ConfigError as error:
        return NoBatchForm(error.why)
    except spark_errors() as error:
        return NoBatchForm(f"it could not be built: {first_line(error)}")
    return _same(stream, df) or BatchForm(
        df=df,
        doubts=(*port.find_doubts(stream), *_doubts_of(notes)),
        sides=tuple(side for side in port.static_sides(stream) if not side.is_constant),
    )


def read_sources(spark: SparkSession, declared: Declared) -> Mapping[str, Reading] | NoBatchForm:
    """Return what a stream reads as each source of its checkpoint, by number and by name."""
    try:
        notes = Notes(spark)
        stream = declared.build(Session(spark, notes.open))
        nodes = port_of(spark).source_nodes(stream)
    except ConfigError as error:
        return NoBatchForm(error.why)
    except spark_errors() as error:
        return NoBatchForm(f"it could not be built: {first_line(error)}")
    found: dict[str, Reading] = {}
    for place, node in enumerate(nodes):
        number = _reading_of(node, notes.noted)
        if number is None:
            return NoBatchForm(f"which of its streams source {place} is cannot be told")
        reading = notes.noted[number].reading
        found[str(place)] = reading
        if reading.name is not None:
            found[reading.name] = reading
    return found


def without_options(declared: Declared, names: Sequence[str]) -> Declared:
    """Return a stream that reads its sources without some options, given in lower case."""

    def build(session: SparkSession) -> DataFrame:
        def open_reading(reading: Reading) -> DataFrame:
            return stream_of(session, replace(reading, options=reading.without(names)))

        return declared.build(Session(session, open_reading))

    return replace(declared, build=build)


def _same(stream: Any, df: DataFrame) -> NoBatchForm | None:
    """Say what is different when the function is called with batches; None if nothing is."""
    if df.isStreaming:
        return NoBatchForm(_OTHER_SESSION)
    if _columns(df) != _columns(stream):
        return NoBatchForm("read as a batch, it has other columns than as a stream")
    return None


def _opened(
    spark: SparkSession,
    notes: Notes,
    nodes: tuple[SourceNode, ...],
    *,
    ranges: Ranges,
    tag: Tag | None,
) -> list[Make] | NoBatchForm:
    """Return what opens each stream that the function reads, in the order in which it does."""
    of_readings = _ranges_of_readings(notes.noted, nodes, ranges)
    if isinstance(of_readings, NoBatchForm):
        return of_readings
    opened: list[Make] = []
    make: Make | NoBatchForm
    for number, noted in enumerate(notes.noted):
        source, found = of_readings.get(number, ("", None))
        make = (
            _nothing(spark, noted)
            if found is None
            else found.open(opening_of(spark, noted.reading))
        )
        if tag is not None and found is not None and not isinstance(make, NoBatchForm):
            part = SourcePart(source=source, reading=noted.reading, found=found, make=make)
            make = tag(part)
        if isinstance(make, NoBatchForm):
            return make
        opened.append(make)
    return opened


def _ranges_of_readings(
    noted: list[Noted], nodes: tuple[SourceNode, ...], ranges: Ranges
) -> Mapping[int, tuple[str, SourceRange]] | NoBatchForm:
    """Return the source and the range of each stream that the function reads, by its number."""
    if not noted:
        return NoBatchForm(_OTHER_SESSION)
    found: dict[int, tuple[str, SourceRange]] = {}
    used = set()
    for place, node in enumerate(nodes):
        number = _reading_of(node, noted)
        if number is None:
            return NoBatchForm(f"which of its streams source {place} is cannot be told")
        name = noted[number].reading.name
        key = name if name is not None and name in ranges else str(place)
        if key not in ranges:
            continue  # it has given nothing yet
        used.add(key)
        if found.setdefault(number, (key, ranges[key]))[1] != ranges[key]:
            return NoBatchForm("it uses one stream twice, and the two are at different offsets")
    if unused := [key for key in ranges if key not in used]:
        return NoBatchForm(f"the checkpoint has a source {unused[0]}, and the code has none")
    return found


def _reading_of(node: SourceNode, noted: list[Noted]) -> int | None:
    """Return the number of the stream that a source of the plan is; None if that is unclear."""
    for number, each in enumerate(noted):
        if any(node.columns & known.columns for known in each.nodes):
            return number
    # Used twice, the second has columns of its own.
    same = [
        number
        for number, each in enumerate(noted)
        if any(known.display_name == node.display_name for known in each.nodes)
    ]
    return same[0] if len(same) == 1 else None


def _nothing(spark: SparkSession, noted: Noted) -> Make:
    return lambda: spark.createDataFrame([], noted.schema)


def _columns(df: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in df.schema]


def _doubts_of(notes: Notes) -> tuple[str, ...]:
    lenient = any(each.reading.option("failOnDataLoss") == "false" for each in notes.noted)
    return ("it reads with failOnDataLoss=false, which leaves out what expired",) if lenient else ()
