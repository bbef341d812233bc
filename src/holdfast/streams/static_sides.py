"""Whether the data that a stream is joined with is the same as when its first batch ran."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.record.generations import OPENED
from holdfast.record.layout import generation_path
from holdfast.sinks.session import reader_of
from holdfast.spark.plans import StaticSide
from holdfast.storage.location import is_same_store, parse_location
from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.streams.place import Place

_LOG = "_delta_log"
_OPENED_WITHIN = timedelta(minutes=1)
"""A file of the record that is newer than what it says was copied there."""


def changed_sides(
    spark: SparkSession, sides: tuple[StaticSide, ...], place: Place
) -> Iterator[str]:
    """Yield why rows can be others than the stream gave: what it is joined with can have changed.

    A Delta table is the same if its newest commit is older than the stream. Both times must come
    from one store: clocks of two machines may differ.

    Args:
        spark: The session.
        sides: Data of the query that is not a stream.
        place: Of the stream.
    """
    for side in sides:
        began = _began(place)
        if side.delta is not None and began is not None and _is_older(spark, side.delta, began):
            continue
        yield side.doubt


def _began(place: Place) -> tuple[Reader, datetime] | None:
    """Return when the first generation was opened, by the clock of the record's store."""
    try:
        info = place.record.stat(generation_path(1))
    except HoldfastError:
        return None
    # An adopted one has read before, and a later one may be a copy.
    if info is None or place.generation.number != 1 or place.generation.why != OPENED:
        return None
    opened = datetime.fromisoformat(place.generation.opened_at)
    is_first = abs(info.modified - opened) <= _OPENED_WITHIN
    return (place.record, info.modified) if is_first else None


def _is_older(spark: SparkSession, table: str, began: tuple[Reader, datetime]) -> bool:
    """Return whether no commit of a Delta table is as new as the stream."""
    record, opened = began
    try:
        reader = reader_of(spark, parse_location(table))
        if not is_same_store(reader.location, record.location):
            return False
        commits = reader.list(_LOG).files
    except HoldfastError:
        return False
    newest = max((info.modified for info in commits), default=None)
    return newest is not None and newest < opened
