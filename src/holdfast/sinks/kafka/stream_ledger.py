"""The ledger of one stream in one topic: read, written in a transaction, and examined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.sinks.kafka.cluster import ANSWER_S, LEDGER_SETTINGS
from holdfast.sinks.kafka.failures import LedgerTopicError, timed_out
from holdfast.sinks.kafka.reader import LedgerReader
from holdfast.sinks.kafka.record import (
    LedgerRecord,
    Pins,
    decode_record,
    encode_record,
    is_too_long,
    key_of,
    ledger_topic,
    transactional_id,
)
from holdfast.sinks.kafka.transactions import Transactions

if TYPE_CHECKING:
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.kafka.cluster import Cluster, Topic
    from holdfast.sinks.kafka.sink import Kafka


_LOOK_S = 1.0
"""How long a transaction of another driver is waited for; its successor ends it anyway."""


class StreamLedger:
    """One ledger topic, its reader, and the producer that may write to it."""

    def __init__(self, sink: Kafka, cluster: Cluster, stream: str) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigError: Its name would be longer than Kafka takes.
        """
        self._sink = sink
        self._cluster = cluster
        self.topic = ledger_topic(stream, sink.label)
        if is_too_long(self.topic):
            raise ConfigError(f"The ledger topic {self.topic} is too long a name: give name=.")
        self._stream = stream
        self._key = key_of(stream, sink.label)
        self._reader = LedgerReader(cluster, self._key)
        self.transactions = Transactions(
            cluster, transactional_id(stream, sink.label), timeout_s=sink.timeout_s
        )

    def create(self) -> None:
        """Create the ledger topic, and see that it is one that keeps a row."""
        if self.topic not in self._cluster.find(self.topic):
            self._cluster.create_ledger(self.topic)
        found = self._cluster.settings_of(self.topic)
        policy = None if found is None else found.get("cleanup.policy")
        if policy not in (None, "compact"):
            raise LedgerTopicError(
                self.topic,
                why=f"Its cleanup.policy is {policy}: the ledger row would be deleted by age.",
                how=f"Run: kafka-configs.sh --alter --entity-type topics --entity-name "
                f"{self.topic} --add-config cleanup.policy=compact",
            )

    def warnings(self) -> tuple[str, ...]:
        """Return what could not be checked."""
        if self._cluster.settings_of(self.topic) is not None:
            return ()
        wanted = ", ".join(f"{name}={value}" for name, value in LEDGER_SETTINGS.items())
        return (f"the settings of {self.topic} cannot be read; it must have {wanted}",)

    def read(self) -> LedgerRecord | None:
        """Return what is committed; None without a record, or without a ledger topic.

        With a producer it is the newest for certain: only the end of the last transaction can be
        on its way. Without one, a driver that was killed may have left one open.

        Raises:
            KafkaException: The cluster did not answer.
            LedgerTopicError: What is there is not a ledger record of this stream.
        """
        found = self._cluster.find(self.topic).get(self.topic)
        return None if found is None else self._read(found)

    def stable_ends(self, found: LedgerRecord, topic: Topic) -> dict[int, int] | None:
        """Return how far consumers can read a topic that has no later batch than a record says.

        None when a batch may have come since: its ledger record is there before its commit begins,
        so whoever sees it among the data sees a later record, or a transaction that is open.
        """
        ends = self._cluster.stable_ends(topic)
        ledger = self._cluster.find(self.topic).get(self.topic)
        if ledger is None:
            return None
        value, is_newest = self._reader.read(ledger, wait_s=_LOOK_S)
        return ends if is_newest and value is not None and decode_record(value) == found else None

    def _read(self, topic: Topic) -> LedgerRecord | None:
        is_owner = self.transactions.is_open
        wait_s = ANSWER_S if is_owner else _LOOK_S
        value, is_newest = self._reader.read(topic, wait_s=wait_s)
        if is_owner and not is_newest:
            raise timed_out()
        if value is None:
            return None
        record = decode_record(value)
        of = (self._stream, self._sink.label)
        if record is None or (record.row.stream, record.row.sink) != of:
            raise LedgerTopicError(
                self.topic,
                why="Its newest record is not a ledger record of this stream, or is newer than "
                "this version of Holdfast.",
                how="Find out who writes to it. The record before it can be written again.",
            )
        return record

    def put(self, record: LedgerRecord) -> None:
        """Send a record, within the transaction there is, and wait until the broker has it."""
        self.transactions.open().produce(
            self.topic, value=encode_record(record), key=self._key, partition=0
        )
        self.transactions.flush()

    def repinned(self, row: LedgerRow, found: LedgerRecord | None) -> LedgerRecord:
        """Return a record for a row that did not come with a batch."""
        topics = self.topics()
        data, ledger = topics
        if found is not None:
            return LedgerRecord(row=row, pins=found.pins)
        ends = self._cluster.ends(data)
        # Of a writer before it, or of before the row was lost: the row stands for all there is.
        begins = ends if row.last_batch < 0 else dict.fromkeys(ends, 0)
        pins = Pins(topic_id=_id(data), ledger_id=_id(ledger), begins=begins, ends=ends)
        return LedgerRecord(row=row, pins=pins)

    def advanced(self, found: LedgerRecord, row: LedgerRow) -> LedgerRecord:
        """Return the record of a row that comes with a batch, whose records the broker has."""
        data, _ = self.topics()
        return LedgerRecord(row=row, pins=replace(found.pins, ends=self._cluster.ends(data)))

    def topics(self) -> tuple[Topic, Topic]:
        """Return the topic and the ledger topic.

        Raises:
            LedgerTopicError: One of them does not exist.
        """
        found = self._cluster.find(self._sink.topic, self.topic)
        for name in (self._sink.topic, self.topic):
            if name not in found:
                raise LedgerTopicError(
                    self.topic,
                    why=f"There is no topic {name}.",
                    how="Start the stream again: the start says what can be done.",
                )
        return found[self._sink.topic], found[self.topic]

    def examine(self) -> str | None:
        """Say what shows that the topics are not those that the row was written into."""
        found = self._cluster.find(self._sink.topic, self.topic)
        ledger, data = found.get(self.topic), found.get(self._sink.topic)
        record = None if ledger is None else self._read(ledger)
        if data is None:
            return f"the topic {self._sink.topic} does not exist"
        if ledger is None or record is None:
            return None
        return self.find_change(record.pins, data, ledger)

    def find_change(self, pins: Pins, data: Topic, ledger: Topic) -> str | None:
        """Say what has become of the topics since the pins were written; None: nothing."""
        if data.topic_id != pins.topic_id:
            return f"the topic {data.name} was deleted and created again"
        if ledger.topic_id != pins.ledger_id:
            return f"the ledger topic {ledger.name} was deleted and created again"
        ends = self._cluster.ends(data)
        for partition, reached in sorted(pins.ends.items()):
            now = ends.get(partition, 0)
            if now < reached:
                return (
                    f"partition {partition} of {data.name} ends at offset {now}, and had reached "
                    f"{reached}: records were lost"
                )
        return None

    def close(self) -> None:
        """Let the clients go; the next use makes new ones."""
        self._reader.close()
        self.transactions.drop()


def _id(topic: Topic) -> str:
    return topic.topic_id or ""
