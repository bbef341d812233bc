"""Reads the newest ledger record of a stream, as a consumer does that waits for transactions.

A ledger topic has one partition and one key, so the newest record is close to its end. What lies
between the last stable offset and the end belongs to a transaction that is not ended yet: a broker
answers a commit before it has written that to every partition. Only the stream's own producer
writes to the topic, and `init_transactions` of its successor ends its transaction; what is read
after that is all there is.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sinks.kafka.cluster import ANSWER_S
from holdfast.sinks.kafka.failures import timed_out

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from holdfast.sinks.kafka.cluster import Cluster, Topic

_TAIL = 64
"""So many offsets are read from the end; more when no record was among them."""
_PAUSE_S = 0.005
_READING: dict[str, object] = {
    "group.id": "holdfast",  # never joined: partitions are assigned by hand
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 10,  # the answer at the end of a partition
}


def open_consumer(cluster: Cluster) -> Consumer:
    """Return a consumer that waits for transactions, and is assigned to nothing."""
    from confluent_kafka import Consumer

    return Consumer({**cluster.settings, **_READING})


class LedgerReader:
    """Reads one ledger topic; holds a consumer that fetches only while it reads."""

    def __init__(self, cluster: Cluster, key: bytes) -> None:
        """Connect to nothing yet."""
        self._cluster = cluster
        self._key = key
        self._consumer: Consumer | None = None
        self._known: tuple[str | None, int, bytes | None] | None = None

    def read(self, topic: Topic, *, wait_s: float) -> tuple[bytes | None, bool]:
        """Return the value of the newest committed record, None when there is none.

        And whether it is the newest for certain: no transaction is open behind it.

        Args:
            topic: The ledger topic.
            wait_s: How long an open transaction is waited for.

        Raises:
            KafkaException: The cluster did not answer, or not in time.
        """
        until = clock.monotonic() + wait_s
        while True:
            end, stable = self._cluster.ends(topic)[0], self._cluster.stable_ends(topic)[0]
            if stable >= end or clock.monotonic() >= until:
                return self._read(topic, stable), stable >= end
            time.sleep(_PAUSE_S)

    def _read(self, topic: Topic, end: int) -> bytes | None:
        if self._known is not None and self._known[:2] == (topic.topic_id, end):
            return self._known[2]
        begin = self._cluster.begins(topic)[0]
        tail, value = _TAIL, None
        while begin < end:
            start = max(begin, end - tail)
            value = self._newest(topic, start, end)
            if value is not None or start == begin:
                break
            tail *= 16
        self._known = (topic.topic_id, end, value)
        return value

    def _newest(self, topic: Topic, start: int, end: int) -> bytes | None:
        from confluent_kafka import KafkaError, KafkaException, TopicPartition

        if self._consumer is None:
            self._consumer = open_consumer(self._cluster)
        self._consumer.assign([TopicPartition(topic.name, 0, start)])
        value: bytes | None = None
        until = clock.monotonic() + ANSWER_S
        try:
            while (left := until - clock.monotonic()) > 0:
                message = self._consumer.poll(left)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    value = message.value() if message.key() == self._key else value
                elif error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - its own name
                    raise KafkaException(error)
                elif int(message.offset() or 0) >= end:
                    return value
        finally:
            self._consumer.unassign()
        raise timed_out()

    def close(self) -> None:
        """Let the consumer go; the next read makes a new one."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        self._known = None
