"""What is known of a stream before a range of it is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from shlex import quote
from typing import TYPE_CHECKING

import msgspec

from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.record.bounds import MAX_EPOCH
from holdfast.record.repairs import unfinished_repair
from holdfast.record.runs import last_topic_ids
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.port import port_of
from holdfast.streams.backfill.available import Available, ask_brokers
from holdfast.streams.backfill.errors import BackfillRefusedError
from holdfast.streams.backfill.positions import Position, decode_position
from holdfast.streams.declared import Declared
from holdfast.streams.place import Place, find_place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_START_FIRST = "Start the stream and let it run a batch; then backfill it."


class KnownStream(msgspec.Struct, frozen=True, kw_only=True):
    """A stream that can be backfilled."""

    spark: SparkSession
    declared: Declared
    df: DataFrame
    place: Place
    ledgers: tuple[LedgerStore, ...]
    """Of each sink."""
    position: Position
    """Where its last batch ended."""
    available: Mapping[str, Available]
    """What each Kafka source still has."""

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.declared.name

    @property
    def generation(self) -> int:
        """The current one."""
        return self.place.generation.number


def find_stream(
    spark: SparkSession, declared: Declared, root: str | None, *, undone: ExitStack
) -> KnownStream:
    """Return what is known of a stream; nothing is created or changed.

    Raises:
        BackfillRefusedError: It cannot be backfilled.
        HoldfastError: Its record, a ledger or a source cannot be read.
    """
    stream = declared.name
    df = _build(spark, declared)
    if (fatal := find_fatal(declared.sinks)) is not None:
        how = "Name the column that orders the rows of a key: sequence_by=."
        raise BackfillRefusedError(stream, why=fatal, how=how)
    place = find_place(spark, stream, root, checkpoint=declared.options.get("checkpoint"))
    if not place.is_written_down:
        why = f"The stream has no record below {place.record.location.parent}."
        raise BackfillRefusedError(stream, why=why, how=_START_FIRST)
    if (repair := unfinished_repair(place.record)) is not None:
        why = f"A plan ({repair.goal}) was begun on the stream and has not ended."
        how = f"Finish it: holdfast apply {quote(repair.journal)} --continue"
        raise BackfillRefusedError(stream, why=why, how=how)
    ledgers = tuple(_ledger(spark, stream, sink, undone=undone) for sink in declared.sinks)
    position = _position(stream, ledgers)
    recorded = last_topic_ids(
        place.record, before=MAX_EPOCH + 1, generation=place.generation.number
    )
    return KnownStream(
        spark=spark,
        declared=declared,
        df=df,
        place=place,
        ledgers=ledgers,
        position=position,
        available=ask_brokers(stream, df, position, recorded=recorded),
    )


def _build(spark: SparkSession, declared: Declared) -> DataFrame:
    try:
        df = declared.build(spark)
        state = port_of(spark).find_state(df)
    except spark_errors() as error:
        why = f"Its function cannot be called: {first_line(error)}"
        how = "Run it where the stream itself can start."
        raise BackfillRefusedError(declared.name, why=why, how=how) from error
    if state:
        raise BackfillRefusedError(
            declared.name,
            why=f"It keeps state ({', '.join(state)}): its rows depend on where batches end, so a "
            "range of its sources alone does not give them.",
            how="Reset the stream from an earlier position: holdfast plan reset.",
        )
    return df


def _ledger(spark: SparkSession, stream: str, sink: SinkSpec, *, undone: ExitStack) -> LedgerStore:
    ledger = sink.open_ledger(spark)
    if ledger is None:
        raise BackfillRefusedError(
            stream,
            why=(
                f"{sink.display_name} has no ledger: which chunks it got could not be told after "
                "a kill."
            ),
            how="Declare the stream without it for the backfill.",
        )
    undone.callback(ledger.close)
    return ledger


def _position(stream: str, ledgers: tuple[LedgerStore, ...]) -> Position:
    """Return where the stream's last batch ended.

    Raises:
        BackfillRefusedError: A sink has no batch of it, or a source is of an unknown kind.
    """
    rows = [read_row(ledger, stream) for ledger in ledgers]
    for ledger, row in zip(ledgers, rows, strict=True):
        if row is None or row.last_batch < 0:
            why = f"The sink {ledger.label(stream)} holds no batch of the stream yet."
            raise BackfillRefusedError(stream, why=why, how=_START_FIRST)
    newest = max((row for row in rows if row is not None), key=lambda row: row.last_batch)
    position = decode_position(newest.end_offsets)
    if position is None:
        raise BackfillRefusedError(
            stream,
            why="One of its sources is of a kind whose ranges cannot be read again.",
            how="Kafka topics, Delta tables and directories of files can be backfilled.",
        )
    return position


def read_row(ledger: LedgerStore, stream: str) -> LedgerRow | None:
    """Return the row of a stream.

    Raises:
        HoldfastError: The ledger cannot be read.
    """
    row = ledger.read(stream)
    if isinstance(row, Unreadable):
        if row.error is not None:
            raise row.error
        why = f"The ledger of {ledger.label(stream)} cannot be read: {row.why}."
        raise BackfillRefusedError(stream, why=why, how="Run it again when it can be read.")
    return row


def find_fatal(sinks: Sequence[SinkSpec]) -> str | None:
    """Say why the sinks of a stream cannot take a backfill at all; None when they can."""
    for sink in sinks:
        if sink.keys and sink.sequence_by is None:
            return (
                f"{sink.display_name} merges by {', '.join(sink.keys)} without sequence_by: an "
                "older row of the range would replace a newer one."
            )
    return None
