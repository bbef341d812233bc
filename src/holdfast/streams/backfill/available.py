"""What the Kafka sources of a stream still have, asked through the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from holdfast.sources.kafka.kind import KafkaOffset, Partitions
from holdfast.sources.kafka.probe import CannotAskError, KafkaClient, TopicAnswer
from holdfast.sources.kind import Offset
from holdfast.sources.ranges import Ranges
from holdfast.sources.registry import of_kind
from holdfast.spark.port import port_of
from holdfast.streams.backfill.errors import BackfillRefusedError
from holdfast.streams.backfill.positions import Position

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Available(msgspec.Struct, frozen=True, kw_only=True):
    """The offsets that a topic has, per topic and partition."""

    earliest: Partitions
    latest: Partitions
    """The offset after the last record."""

    @property
    def oldest(self) -> Mapping[tuple[str, int], int]:
        """The oldest offset of every partition."""
        return KafkaOffset(partitions=self.earliest).numbers()

    def missing(self, end: Offset) -> str | None:
        """Say which partition does not reach the end of a range yet; None when all do."""
        for (topic, number), at in end.numbers().items():
            latest = self.latest.get(topic, {}).get(number)
            if latest is None:
                return f"the topic {topic} has no partition {number}"
            if latest < at:
                return f"partition {number} of {topic} ends at {latest:,}, before {at:,}"
        return None


def ask_brokers(
    stream: str, df: DataFrame, known: Position, *, recorded: Mapping[str, Mapping[str, str]]
) -> Mapping[str, Available]:
    """Return what each Kafka source of a stream still has.

    Args:
        stream: Its name.
        df: Its streaming DataFrame.
        known: Where the stream is.
        recorded: The id of each topic when the stream was last started, by source.

    Raises:
        BackfillRefusedError: A broker does not answer, or a topic was created again.
    """
    clients = port_of(df.sparkSession).find_kafka_clients(df)
    found = {}
    for source, offset in of_kind(known, KafkaOffset).items():
        client = _client(source, clients)
        if client is None:
            why = f"Its code has no Kafka source {source}, and its checkpoint has one."
            how = "Run it with the code that wrote the checkpoint."
            raise BackfillRefusedError(stream, why=why, how=how)
        try:
            topics = client.describe(offset.partitions)
        except CannotAskError as error:
            why = f"What the topic still has is unknown: {error}."
            how = "Run it again when the broker answers."
            raise BackfillRefusedError(stream, why=why, how=how) from None
        _refuse_recreated(stream, topics, recorded.get(source, {}))
        found[source] = _available(topics)
    return found


def _client(source: str, clients: Mapping[int, KafkaClient]) -> KafkaClient | None:
    if source.isdecimal():
        return clients.get(int(source))
    # Entries that name their sources do not number them: there a single one is known.
    return next(iter(clients.values())) if len(clients) == 1 else None


def _available(topics: Mapping[str, TopicAnswer]) -> Available:
    both = {name: answer.ranges for name, answer in topics.items()}
    return Available(
        earliest={name: {n: ends[0] for n, ends in each.items()} for name, each in both.items()},
        latest={name: {n: ends[1] for n, ends in each.items()} for name, each in both.items()},
    )


def _refuse_recreated(
    stream: str, topics: Mapping[str, TopicAnswer], recorded: Mapping[str, str]
) -> None:
    for name, answer in topics.items():
        before, now = recorded.get(name), answer.topic_id
        # Zero, which is written as A: a broker without ids.
        if before and now and before != now and before.strip("A"):
            raise BackfillRefusedError(
                stream,
                why=f"The topic {name} was deleted and created again since the stream was last "
                "started: the same offsets are other records now.",
                how="Start the stream first; it says what this means for its checkpoint.",
            )


def without_expired(ranges: Ranges, available: Mapping[str, Available]) -> Ranges:
    """Return ranges that begin where their topics do, if those begin later."""
    return {
        source: each.without_expired(available[source].oldest) if source in available else each
        for source, each in ranges.items()
    }
