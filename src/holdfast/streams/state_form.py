"""A declared stream with state as a batch job: the rows that its table must hold, or may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import ConfigError
from holdfast.ledger.batch_history import History, read_history
from holdfast.sources.ranges import Ranges
from holdfast.spark.errors import first_line, unplanned
from holdfast.spark.plans import Aggregation, NotDecided, OnTime, StateShape, Times
from holdfast.spark.port import port_of
from holdfast.storage.read import Reader
from holdfast.streams.batch_form import BatchForm, KeptState, NoBatchForm, batch_form
from holdfast.streams.declared import Declared
from holdfast.streams.late_tags import LateTags

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Batches(msgspec.Struct, frozen=True, kw_only=True):
    """The batches that a table holds."""

    checkpoint: Reader
    first: int
    """The first that the query ran."""
    last: int


def state_form(
    spark: SparkSession, declared: Declared, ranges: Ranges, *, batches: Batches
) -> BatchForm | NoBatchForm:
    """Return a stream with state as a batch job over everything that it has read.

    Args:
        spark: The session.
        declared: The stream.
        ranges: Of each source, from where its state was empty.
        batches: That the table holds.
    """
    try:
        stream = declared.build(spark)
        shape = port_of(spark).state_shape(stream, output_mode=declared.options["outputMode"])
        if isinstance(shape, NotDecided):
            return NoBatchForm(shape.reason)
        history = _history(shape, batches)
        if isinstance(history, NoBatchForm):
            return history
        tags = LateTags(spark=spark, history=history.batches, checkpoint=batches.checkpoint)
        plain = batch_form(spark, declared, ranges, tag=tags)
        if isinstance(plain, NoBatchForm):
            return plain
        return _without_late(plain, shape, history)
    except ConfigError as error:
        return NoBatchForm(error.why)
    except unplanned() as error:
        return NoBatchForm(f"it keeps state, and could not be built: {first_line(error)}")


def _history(shape: StateShape, batches: Batches) -> History | NoBatchForm:
    """Return the batches with their watermarks; none where no row is ever dropped as late."""
    if shape.event_time is None:
        return History(batches=())
    found = read_history(batches.checkpoint, first=batches.first, last=batches.last)
    if not isinstance(found, Unparsed):
        return found
    told = "which rows its batches have dropped as late is not known"
    return NoBatchForm(f"{told}: {found.path}: {found.reason}")


def _without_late(plain: BatchForm, shape: StateShape, history: History) -> BatchForm | NoBatchForm:
    is_closing = isinstance(shape, Aggregation) and shape.output_mode == "append"
    times = Times(
        closed_ms=history.closed_ms if is_closing else None,
        unknown_until_ms=history.unknown_until_ms,
    )
    found = port_of(plain.df.sparkSession).on_time(plain.df, shape, times)
    if isinstance(found, NotDecided):
        return NoBatchForm(found.reason)
    late = _count_late(found, history)
    kept = KeptState(
        shape=shape,
        entering=found.entering,
        late=late,
        given_late=found.given_late if late else None,
        unknown=found.unknown,
        unknown_until_ms=history.unknown_until_ms,
    )
    return BatchForm(df=found.df, doubts=plain.doubts, state=kept, sides=plain.sides)


def _count_late(found: OnTime, history: History) -> int:
    if found.late is None or not any(batch.late_ms for batch in history.batches):
        return 0
    return found.late.count()
