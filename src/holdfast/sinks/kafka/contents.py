"""The records of a Kafka topic, read back on the driver as of the moment of its ledger row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.sinks.contents import SinkContents, nullable
from holdfast.sinks.kafka.cluster import ANSWER_S
from holdfast.sinks.kafka.failures import naming_failures, timed_out
from holdfast.sinks.kafka.ledger import KafkaLedgerStore, row_of
from holdfast.sinks.kafka.reader import open_consumer

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message
    from pyspark.sql import DataFrame

    from holdfast.sinks.kafka.cluster import Cluster, Topic
    from holdfast.sinks.kafka.record import LedgerRecord, Pins
    from holdfast.sinks.kafka.sink import Kafka
    from holdfast.sinks.kafka.stream_ledger import StreamLedger

_TRIES = 10
"""A batch can be committed between two looks a few times."""


class ContentsGoneError(HoldfastError):
    """Records of a stream are not in the topic any more, or cannot be read back here."""

    code = "CONTENTS_GONE"

    def __init__(self, shown: str, *, why: str) -> None:
        super().__init__(
            what=f"What {shown} holds of the stream cannot be read back.",
            why=why,
            how="Compare with what a consumer has stored instead. Topics that are to be compared "
            "need cleanup.policy=delete and a longer retention.ms.",
        )


@contextmanager
def open_contents(sink: Kafka, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give the records that consumers can read with no later batch than the ledger row's.

    Those that another program has written after the last batch are among them.

    Args:
        sink: The sink.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        ContentsGoneError: The topic does not have all of them any more, or they are too many.
    """
    from holdfast.sinks.collect import memory_of

    # A row may leave its partition to Kafka, which then chooses one.
    given = df.drop("partition")
    with closing(KafkaLedgerStore(sink)) as ledger, naming_failures(sink.display_name):
        record = ledger.of(stream).read()
        rows: list[tuple[object, ...]] = []
        if record is not None:
            budget = memory_of(df.sparkSession)
            contents = _Contents(sink, ledger.cluster, record.pins)
            topic = contents.find_topic()
            record, ends = _at_one_moment(sink, ledger.of(stream), topic)
            rows = list(contents.rows(given, topic, ends, budget=budget))
        yield SinkContents(
            row=row_of(record),
            rows=df.sparkSession.createDataFrame(rows, nullable(given.schema)),
            newest=lambda all_rows: all_rows,
            comparable=lambda kept: kept.drop("partition"),
            row_of=lambda other: row_of(ledger.of(other).read()),
            others=ledger.other_streams(stream),
        )


def _at_one_moment(
    sink: Kafka, ledger: StreamLedger, topic: Topic
) -> tuple[LedgerRecord, dict[int, int]]:
    """Return the newest ledger record, and how far consumers can read with no later batch.

    Raises:
        ContentsGoneError: There was no such moment.
    """
    for _ in range(_TRIES):
        record = ledger.read()
        ends = None if record is None else ledger.stable_ends(record, topic)
        if record is not None and ends is not None:
            # A transaction of another program can keep consumers from the last batch.
            reached = record.pins.ends
            return record, {each: max(end, reached.get(each, 0)) for each, end in ends.items()}
    raise ContentsGoneError(
        sink.display_name,
        why="A transaction of the stream stayed open, or each look found a later batch. After a "
        "kill, start the stream again.",
    )


class _Contents:
    """Reads a topic from where a ledger record says that the stream began."""

    def __init__(self, sink: Kafka, cluster: Cluster, pins: Pins) -> None:
        self._sink = sink
        self._cluster = cluster
        self._pins = pins

    def rows(
        self, df: DataFrame, topic: Topic, ends: Mapping[int, int], *, budget: int
    ) -> Iterator[tuple[object, ...]]:
        """Yield the records before an offset of each partition, with a DataFrame's columns."""
        texts = {field.name for field in df.schema.fields if field.dataType.typeName() == "string"}
        size = 0
        for message in self._messages(topic, ends):
            values = {
                "key": _shown(message.key(), is_text="key" in texts),
                "value": _shown(message.value(), is_text="value" in texts),
                "headers": message.headers(),
            }
            size += len(message) + len(message.key() or b"")
            if size > budget:
                why = f"Its records are larger than {budget:,} bytes, which the driver may hold."
                raise ContentsGoneError(self._sink.display_name, why=why)
            yield tuple(values[name] for name in df.columns)

    def find_topic(self) -> Topic:
        """Return the topic.

        Raises:
            ContentsGoneError: It is another one, or it does not have every record any more.
        """
        topic = self._cluster.find(self._sink.topic).get(self._sink.topic)
        shown = self._sink.display_name
        if topic is None or topic.topic_id != self._pins.topic_id:
            raise ContentsGoneError(shown, why="The topic was deleted, or created again.")
        policy = (self._cluster.settings_of(topic.name) or {}).get("cleanup.policy", "")
        if "compact" in policy:
            raise ContentsGoneError(shown, why="The topic is compacted: it forgets older records.")
        begins = self._cluster.begins(topic)
        for partition, begin in sorted(self._pins.begins.items()):
            if begins.get(partition, 0) > begin and self._pins.ends.get(partition, 0) > begin:
                why = f"Partition {partition} begins at {begins[partition]} now, after {begin}."
                raise ContentsGoneError(shown, why=why)
        return topic

    def _messages(self, topic: Topic, ends: Mapping[int, int]) -> Iterator[Message]:
        from confluent_kafka import TopicPartition

        left = {each: end for each, end in ends.items() if end > self._pins.begins.get(each, 0)}
        if not left:
            return
        consumer = open_consumer(self._cluster)
        try:
            consumer.assign(
                [TopicPartition(topic.name, each, self._pins.begins.get(each, 0)) for each in left]
            )
            yield from _until(consumer, left)
        finally:
            consumer.close()


def _until(consumer: Consumer, left: dict[int, int]) -> Iterator[Message]:
    """Yield the committed records before an offset of each partition."""
    from confluent_kafka import KafkaError, KafkaException

    until = clock.monotonic() + ANSWER_S
    while left:
        message = consumer.poll(1.0)
        if message is None:
            if clock.monotonic() > until:
                raise timed_out()
            continue
        until = clock.monotonic() + ANSWER_S
        error, partition = message.error(), int(message.partition() or 0)
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
            raise KafkaException(error)
        if int(message.offset() or 0) >= left.get(partition, 0):
            left.pop(partition, None)
        elif error is None:
            yield message


def _shown(value: str | bytes | None, *, is_text: bool) -> str | bytes | None:
    return value.decode(errors="replace") if is_text and isinstance(value, bytes) else value
