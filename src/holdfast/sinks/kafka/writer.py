"""Writes the batches of one start into a Kafka topic: one transaction for each."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.sinks.kafka.columns import check_columns
from holdfast.sinks.kafka.failures import (
    BatchUnknownError,
    KafkaRefusedError,
    TransactionTooLongError,
    is_refusal,
    name_of,
    naming_failures,
)
from holdfast.sinks.kafka.ledger import KafkaLedgerStore
from holdfast.sinks.retry import RetryBudget
from holdfast.sinks.sink import SinkWriter

if TYPE_CHECKING:
    from confluent_kafka import KafkaException
    from pyspark.sql import DataFrame

    from holdfast.errors import HoldfastError
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.kafka.cluster import Topic
    from holdfast.sinks.kafka.sink import Kafka
    from holdfast.sinks.sink import BeforeCommit


def resolve_writer(sink: Kafka, df: DataFrame, stream: str) -> KafkaWriter:
    """Check the columns of a streaming DataFrame, and find the topic.

    Raises:
        HoldfastError: The topic does not take the rows, or the cluster cannot be used.
    """
    check_columns(df.schema, sink.display_name)
    ledger = KafkaLedgerStore(sink)
    with ExitStack() as undone, naming_failures(sink.display_name):
        undone.callback(ledger.close)
        ledger.of(stream)
        cluster_id, topic = ledger.cluster.cluster_id(), find_topic(ledger, sink)
        undone.pop_all()
    return KafkaWriter(sink, ledger=ledger, topic=topic, cluster_id=cluster_id, stream=stream)


def find_topic(ledger: KafkaLedgerStore, sink: Kafka) -> Topic:
    """Return the topic.

    Raises:
        ConfigError: There is none, or the brokers are too old to tell it from another.
    """
    found = ledger.cluster.find(sink.topic).get(sink.topic)
    if found is None:
        raise ConfigError(
            f"There is no topic {sink.topic}. Holdfast does not choose its partitions: create it, "
            f"for example with kafka-topics.sh --create --topic {sink.topic} --partitions 6."
        )
    if found.topic_id is None:
        raise ConfigError(
            "The brokers give topics no id, so a topic that is created again would not be "
            "noticed. Kafka 2.8 and newer do."
        )
    return found


class KafkaWriter(SinkWriter):
    """One start's producer for one topic."""

    _sink: Kafka

    def __init__(
        self, sink: Kafka, *, ledger: KafkaLedgerStore, topic: Topic, cluster_id: str, stream: str
    ) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._ledger = ledger
        self._topic = topic
        self._cluster_id = cluster_id
        self._stream = stream

    @property
    def identity(self) -> str:
        """Cluster and topic, the same however the cluster is reached."""
        return f"kafka:{self._cluster_id}:{self._topic.topic_id}"

    @property
    def ledger(self) -> KafkaLedgerStore:
        """Its ledger, over the same clients."""
        return self._ledger

    def warnings(self) -> tuple[str, ...]:
        """Return what consumers must do, and what could not be checked."""
        with naming_failures(self.display_name):
            return (
                f"only consumers with isolation.level=read_committed read each batch of "
                f"{self.display_name} once",
                *self._ledger.of(self._stream).warnings(),
            )

    def create(self) -> None:
        """Create the ledger topic; the topic itself is its owner's to create."""
        with naming_failures(self.display_name):
            ledger = self._ledger.of(self._stream)
            ledger.create()
            settings = self._ledger.cluster.settings_of(self._sink.topic) or {}
        largest = settings.get("max.message.bytes", "")
        ledger.transactions.largest = int(largest) if largest.isdigit() else None

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied.

        After any error of Kafka the ledger is asked first, so a batch whose answer was lost is not
        written twice. While the cluster is away it is tried again, for a bounded time.
        """
        from confluent_kafka import KafkaException

        patience = RetryBudget(self.display_name, attempt.batch_id)
        while True:
            try:
                return self._write_once(attempt, batch, before_commit)
            except KafkaException as error:
                failure = self._failure(error, attempt)
                before_commit(0)  # nobody waits for a query that is being stopped
                if not patience.wait(failure):
                    raise failure from None

    def _failure(self, error: KafkaException, attempt: Attempt) -> HoldfastError:
        shown, name = self.display_name, name_of(error)
        transactions = self._ledger.of(attempt.stream).transactions
        transactions.drop()
        if is_refusal(name):
            return KafkaRefusedError(shown, attempt.batch_id, name=name)
        if transactions.took_too_long:
            timeout_s = transactions.timeout_s
            return TransactionTooLongError(shown, attempt.batch_id, timeout_s=timeout_s)
        return BatchUnknownError(shown, attempt.batch_id, name=name)

    def _write_once(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        from holdfast.sinks.collect import BatchTooLargeError, TooLargeError, budget_of, collected
        from holdfast.sinks.kafka.write import write_batch

        ledger = self._ledger.of(attempt.stream)
        # Asked once before, without a producer: a batch that is there is not computed again, and a
        # driver that was replaced does not fence its successor.
        found = ledger.read()
        before = decide(None if found is None else found.row, attempt)
        if not isinstance(before, Apply):
            return before
        try:
            with collected(batch, budget=budget_of(batch.sparkSession)) as batches:
                return write_batch(
                    ledger, self._sink, attempt, batches=batches, before_commit=before_commit
                )
        except TooLargeError:
            raise BatchTooLargeError(self.display_name, attempt.batch_id) from None

    def close(self) -> None:
        """Let every client go; the next use makes new ones."""
        self._ledger.close()
