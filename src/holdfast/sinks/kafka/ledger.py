"""The ledger of a Kafka topic: one compacted topic with one record for each stream and sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.starts import SinkFenced
from holdfast.ledger.output import KeepOutput
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.sinks.kafka.cluster import Cluster
from holdfast.sinks.kafka.failures import is_refusal, name_of, naming_failures
from holdfast.sinks.kafka.stream_ledger import StreamLedger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.output import Output
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.kafka.record import LedgerRecord
    from holdfast.sinks.kafka.sink import Kafka

_TRIES = 10
"""A driver that is being replaced can take the producer back a few times, between two of ours."""


Change = Callable[["LedgerRow | None"], "LedgerRow | None"]
"""From the row that is there to the one that takes its place; None: it stays."""


def open_ledger(
    sink: Kafka, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> KafkaLedgerStore:
    """Open the ledger of a topic; no session is needed."""
    del spark, options
    return KafkaLedgerStore(sink)


class KafkaLedgerStore(LedgerStore):
    """The ledgers of all streams in one topic, each in a topic of its own."""

    def __init__(self, sink: Kafka) -> None:
        """Connect to nothing yet."""
        self._sink = sink
        self.cluster = Cluster(sink.servers)
        self._streams: dict[str, StreamLedger] = {}

    def of(self, stream: str) -> StreamLedger:
        """Return the ledger of one stream."""
        if stream not in self._streams:
            self._streams[stream] = StreamLedger(self._sink, self.cluster, stream)
        return self._streams[stream]

    def label(self, stream: str) -> str:
        """Return the sink's own label."""
        del stream
        return self._sink.label

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the row of a stream, as it is committed; None without a row or a ledger topic."""
        try:
            with naming_failures(self._sink.display_name):
                return row_of(self.of(stream).read())
        except HoldfastError as error:
            return Unreadable.by(error)

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the topic, or its ledger, was deleted, recreated or cut off."""
        with naming_failures(self._sink.display_name):
            return self.of(row.stream).examine()

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""

        def change(found: LedgerRow | None) -> LedgerRow | None:
            if found is None or found.epoch >= epoch or found.binding != row.binding:
                return None
            return replace(found, epoch=epoch, nonce=nonce)

        return self._change(row.stream, change, mine=(epoch, nonce))

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch."""
        if old is None:
            with naming_failures(self._sink.display_name):
                self.of(new.stream).create()  # for a plan, where the ledger topic was deleted
        mine = (new.epoch, new.nonce)
        changed = self._change(new.stream, lambda row: new if row == old else None, mine=mine)
        return changed is not None

    def _change(self, stream: str, change: Change, *, mine: tuple[int, str]) -> LedgerRow | None:
        """Change a row with a new producer, which fences every older one; None: not changed."""
        from confluent_kafka import KafkaException

        with naming_failures(self._sink.display_name):
            ledger = self.of(stream)
            for number in range(_TRIES):
                # Read first: a driver that has been replaced must not fence its successor.
                row = row_of(ledger.read())
                if number and row is not None and (row.epoch, row.nonce) == mine:
                    return row  # the answer to its commit was lost
                if change(row) is None:
                    return None
                try:
                    return self._change_now(ledger, change)
                except KafkaException as error:
                    ledger.transactions.drop()
                    if number == _TRIES - 1 or is_refusal(name_of(error)):
                        raise
        raise AssertionError("the last try returns or raises")

    def _change_now(self, ledger: StreamLedger, change: Change) -> LedgerRow | None:
        ledger.transactions.drop()
        ledger.transactions.open()
        found = ledger.read()  # nothing of an older producer is pending any more
        new = change(row_of(found))
        if new is not None:
            with ledger.transactions.transaction():
                ledger.put(ledger.repinned(new, found))
                emit(SinkFenced(stream=new.stream, sink=new.sink))
        return new

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say that records which consumers may have read cannot be taken back."""
        del new
        if isinstance(output, KeepOutput):
            return None
        return (
            f"Records in {self._sink.display_name} cannot be taken back: consumers may have read "
            "them. Use --output keep-from-here, or write into a new topic."
        )

    def table_version(self, stream: str) -> str | None:
        """Return the id of the topic; None when there is none. A topic only grows."""
        del stream
        with naming_failures(self._sink.display_name):
            found = self.cluster.find(self._sink.topic).get(self._sink.topic)
        return None if found is None else found.topic_id

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have a ledger topic for a sink of this label."""
        with naming_failures(self._sink.display_name):
            names: Iterable[str] = self.cluster.names()
        ending = f".{self._sink.label}"
        found = (
            name.removeprefix("holdfast.").removesuffix(ending)
            for name in names
            if name.startswith("holdfast.") and name.endswith(ending)
        )
        return tuple(sorted(each for each in found if each != stream and "." not in each))

    def close(self) -> None:
        """Let every client go; the next use makes new ones."""
        for each in self._streams.values():
            each.close()
        self._streams.clear()
        self.cluster.close()


def row_of(record: LedgerRecord | None) -> LedgerRow | None:
    """Return the row of a record, if there is one."""
    return None if record is None else record.row
