"""Reads topics as a consumer does that waits for transactions, and knows nothing of Holdfast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

Read = tuple[int, bytes | None, bytes | None]
"""Partition, key and value."""


def read_messages(servers: str, topic: str) -> Iterator[Message]:
    """Yield every committed record that is there now, partition by partition."""
    server = {"bootstrap.servers": servers, "log_level": 0, "group.id": "lab-reader"}
    options = {
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 10,
    }
    with closing(Consumer({**server, **options})) as consumer:
        found = consumer.list_topics(timeout=10).topics.get(topic)
        left = set() if found is None else set(found.partitions)
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in left])
        while left:
            message = consumer.poll(10)
            assert message is not None, "the topic is not read to its end"
            if error := message.error():
                assert error.name() == "_PARTITION_EOF", error
                left.discard(int(message.partition() or 0))
            else:
                yield message


def read_topic(servers: str, topic: str) -> list[Read]:
    """Return every committed record that is there now."""
    return [
        (int(each.partition() or 0), _raw(each.key()), _raw(each.value()))
        for each in read_messages(servers, topic)
    ]


def _raw(given: str | bytes | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given
