"""The transactional producer of one stream and sink.

All drivers of a stream use one `transactional.id`. `init_transactions` ends what an older producer
has left open and gives it a lower epoch, so that the broker refuses everything it still sends. From
then until a commit, no other producer of the id has committed anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sinks.kafka.failures import timed_out

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from holdfast.sinks.kafka.cluster import Cluster

INIT_S = 30.0
"""How long a broker may take to fence older producers, and to end their transactions."""
_COMMIT_S = 60.0
"""How long a commit may take; after that only the ledger knows."""
_STEP_S = 1.0
_STALLED_S = 30.0
_ABORT_S = 10.0
_SENDING: dict[str, object] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 20,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 131_072,
    "partitioner": "murmur2_random",  # where Java's producers, and Spark's sink, put a key
}


class Transactions:
    """Makes a producer when one is needed, and runs transactions with it."""

    def __init__(self, cluster: Cluster, transactional_id: str, *, timeout_s: int) -> None:
        """Connect to nothing yet."""
        self._cluster = cluster
        self._id = transactional_id
        self.timeout_s = timeout_s
        self._producer: Producer | None = None
        self._since = 0.0
        self.largest: int | None = None
        """The largest record that the topic takes; None: as librdkafka does."""

    @property
    def is_open(self) -> bool:
        """Whether there is a producer; an older one may have been fenced since."""
        return self._producer is not None

    @property
    def took_too_long(self) -> bool:
        """Whether the last transaction has been open for longer than the broker allows."""
        return clock.monotonic() - self._since >= self.timeout_s

    def open(self) -> Producer:
        """Return the producer; a new one fences every older producer of the id.

        Raises:
            KafkaException: The broker did not do it.
        """
        if self._producer is None:
            from confluent_kafka import Producer

            largest = {} if self.largest is None else {"message.max.bytes": self.largest}
            settings = {
                **self._cluster.settings,
                **_SENDING,
                **largest,
                "transactional.id": self._id,
                "transaction.timeout.ms": self.timeout_s * 1000,
            }
            producer = Producer(settings)
            producer.init_transactions(INIT_S)
            self._producer = producer
        return self._producer

    @contextmanager
    def transaction(self) -> Iterator[Producer]:
        """Run a transaction: committed at its end, aborted when something is raised.

        Raises:
            KafkaException: The broker refused it, or whether it is committed is not known. There
                is no producer then; the next one is given what became of it.
        """
        from confluent_kafka import KafkaException

        producer = self.open()
        self._since = clock.monotonic()
        with ExitStack() as undone:
            undone.callback(self._abort)
            try:
                producer.begin_transaction()
                yield producer
                producer.commit_transaction(_COMMIT_S)
            except KafkaException:
                self.drop()
                raise
            undone.pop_all()

    def _abort(self) -> None:
        """End the transaction, unless the producer is gone: then the next one's init does."""
        from confluent_kafka import KafkaException

        if self._producer is None:
            return
        try:
            self._producer.abort_transaction(_ABORT_S)
        except KafkaException:
            self.drop()

    def flush(self) -> None:
        """Wait until the broker has everything that was sent; what it refuses fails the commit.

        Raises:
            KafkaException: For half a minute it took nothing.
        """
        producer = self.open()
        left, since = len(producer), clock.monotonic()
        while (waiting := producer.flush(_STEP_S)) > 0:
            now = clock.monotonic()
            left, since = (waiting, now) if waiting < left else (left, since)
            if now - since > _STALLED_S:
                raise timed_out()

    def drop(self) -> None:
        """Let the producer go, whatever state it is in; nothing more is sent."""
        from confluent_kafka import KafkaException

        if self._producer is not None:
            with suppress(KafkaException):
                self._producer.purge()
            self._producer = None
